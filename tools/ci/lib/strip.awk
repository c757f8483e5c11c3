# Blanks the comments of C files, and with -v strings=1 also the text in string and character literals. Prints
# FILE:LINE:TEXT for every line, so that a message about it can name its place.
FNR == 1 { comment = 0 }
comment && !/\*\// { print FILENAME ":" FNR ":"; next }
!comment && !/["'\/]/ { print FILENAME ":" FNR ":" $0; next }
{
  out = ""
  n = length($0)
  quote = ""
  for (i = 1; i <= n; i++) {
    c = substr($0, i, 1)
    two = substr($0, i, 2)
    if (comment) {
      if (two == "*/") { comment = 0; i++ }
    } else if (quote != "") {
      if (c == "\\") { if (!strings) out = out two; i++ }
      else if (c == quote) { out = out c; quote = "" }
      else if (!strings) out = out c
    } else if (two == "/*") { comment = 1; i++; out = out " " }
    else if (two == "//") break
    else {
      if (c == "\"" || c == "'") quote = c
      out = out c
    }
  }
  print FILENAME ":" FNR ":" out
}

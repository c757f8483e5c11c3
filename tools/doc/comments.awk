# Converts the comments of public headers for Doxygen: awk -f comments.awk HEADER, Doxygen's INPUT_FILTER.
#
# The headers have plain comments, for readers of the headers. The place of a comment determines its subject:
#
#   at the top of a file                the file
#   /* ---- Title ---- */               begins a group of declarations, up to the next such line
#   on lines of its own                 the declaration below
#   behind code on the same line        that member, enumerator or macro
#
# Lines of a comment that are indented by three blanks or more are shown verbatim. Members that are declared on one line,
# int a, b;, share the comment behind them. An added line replaces the next empty one, so that the lines that Doxygen names
# are those of the header, or next to them.

# Text that Doxygen would read as HTML or as a command.
function plain(text) {
  gsub(/[\\@<>#&]/, "\\\\&", text)
  return text
}

function base(path) {
  sub(/.*\//, "", path)
  return path
}

# group(TITLE): ends the group before, and begins one. Two lines.
function group(title) {
  groups++
  id = base(FILENAME) "_" groups
  gsub(/[^a-z0-9_]/, "_", id)
  print (groups > 1 ? "/** @} */ " : "") "/** @defgroup " id " " title
  print " * @{ */"
}

# Members on one line, the last of which ends it: TYPE a, *b; -> TYPE a;  TYPE *b; each with the text.
function several(code, text,    indent, type, names, n, k, out) {
  match(code, /^ */)
  indent = substr(code, 1, RLENGTH)
  code = substr(code, RLENGTH + 1)
  match(code, /^(const )?[a-z_0-9]+ +/)
  type = substr(code, 1, RLENGTH)
  names = substr(code, RLENGTH + 1)
  sub(/; *$/, "", names)
  n = split(names, name, /, */)
  for (k = 1; k <= n; k++) out = out (k > 1 ? " " : indent) "/** " text " */ " type name[k] ";"
  return out
}

FNR == 1 { comment = 0; top = 1; held = "" }

# Inside a comment
comment {
  line = $0
  ends = sub(/ *\*\/.*$/, "", line)
  sub(/^ +\* ?/, "", line) # " * text" of comments on lines of their own
  if (held != "") sub(/^ +/, "", line)
  indented = line ~ /^  +[^ ]/
  line = (indented ? "    " : "") (indented ? line : plain(line))
  if (held != "") {
    # Members that share a comment of several lines: they come out when it ends, after empty lines.
    text = text " " line
    if (ends) print several(held, text)
    else print ""
    if (ends) held = ""
  } else print " * " line (ends ? (top ? "\n@file */" : " */") : "")
  if (ends) { comment = 0; if (top) { top = 0; skip = 1 } }
  next
}

/^\/\* ---- .* -+ \*\/$/ {
  title = $0
  sub(/^\/\* ---- /, "", title)
  sub(/ -+ \*\/$/, "", title)
  group(title)
  skip = 1
  next
}

# The second line of a group, and that of "@file", take the place of an empty one.
skip && /^$/ { skip = 0; next }

match($0, /\/\* /) {
  code = substr($0, 1, RSTART - 1)
  text = substr($0, RSTART + 3)
  ends = sub(/ *\*\/ *$/, "", text)
  text = plain(text)
  comment = !ends
  own = code ~ /^ *$/
  if (!own && code ~ /^ +(const )?[a-z_0-9]+ +[^(]*,[^(]*; *$/) {
    if (ends) print several(code, text)
    else { held = code; print "" }
  } else print code (own ? "/** " : "/**< ") text (ends ? " */" : "")
  if (ends) top = 0
  next
}

/^extern "C" \{$/ { opened = 1 }
{ print }
/^#endif$/ && opened && !groups { opened = 0; getline; group(base(FILENAME)); skip = 1 }

END { if (groups) print "/** @} */" }

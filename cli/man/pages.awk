# pages.awk: what lowdown is given to make a manual page of, and what is done to its answer.
#
# -v stage=markdown: drops the title, turns "## Section" into "# Section", links into their text, and tables into
# definition lists: a terminal is too narrow for the columns. The first cell becomes the term; further cells follow it,
# each behind its column's title if there are three columns or more.
# -v stage=troff: removes what mandoc and groff warn about (a paragraph right behind a heading, the font C), and writes
# definition lists as tagged paragraphs.
function unlinked(text,    out) {
    while (match(text, /!?\[[^][]*\]\([^)]*\)/)) {
        out = substr(text, RSTART, RLENGTH)
        sub(/^!?\[/, "", out)
        sub(/\]\([^)]*\)$/, "", out)
        text = substr(text, 1, RSTART - 1) out substr(text, RSTART + RLENGTH)
    }
    return text
}
function row(    n, cell, i, text) {
    gsub(/\\\|/, "\001")
    n = split($0, cell, / *\| */) # the first and the last are what is outside the bars
    if (!in_table) { for (i = 2; i < n; i++) title[i] = cell[i]; in_table = 1; return }
    if ($0 ~ /^\|[-:| ]+\|$/) return
    for (i = 3; i < n; i++)
        if (cell[i] != "") text = text (text == "" ? "" : ". ") (n > 4 && i > 3 ? "*" title[i] "*: " : "") cell[i]
    gsub(/\001/, "|", text)
    gsub(/\001/, "|", cell[2])
    print "**" cell[2] "**\n\n: " text "\n"
}
stage == "markdown" && fence == "" && /^```/ { match($0, /^```+/); fence = substr($0, 1, RLENGTH); print; next }
stage == "markdown" && fence != "" { if ($0 == fence) fence = ""; print; next }
stage == "markdown" && NR == 1 { next }
stage == "markdown" && /^<!--.*-->$/ { next }
stage == "markdown" && /^\|/ { $0 = unlinked($0); row(); next }
stage == "markdown" { in_table = 0; sub(/^##/, "#"); print unlinked($0); next }
stage == "troff" { line[NR] = $0 }

END {
    for (i = 1; i <= NR && stage == "troff"; i++) {
        text = line[i]
        gsub(/\\fC|\\f\(CB/, "\\fB", text)
        if (text !~ /^\./) { gsub(/\\-/, "-", text); gsub(/-/, "\\-", text) } # a hyphen that can be pasted into a shell
        if (line[i] ~ /^\.S[HS]$/) {
            text = line[++i]
            print line[i - 1] " " (line[i - 1] == ".SH" ? toupper(text) : text)
            if (line[i + 1] ~ /^\.(PP|LP)$/) i++
        }
        else if (line[i] ~ /^\.(PP|LP)$/ && line[i + 2] ~ /^\.if n/) continue
        else if (line[i + 1] ~ /^\.if n/) { print ".TP\n" text; i += 5 } # a term of a definition list
        else if (text == ".EX") print ".RS 4\n.nf"
        else if (text == ".EE") print ".fi\n.RE"
        else print text
    }
}

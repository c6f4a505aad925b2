# format.awk: results.tsv(5) out of schema/FORMAT.md.
#
# Of Markdown it knows what that page uses: headings, paragraphs, tables, code set off by four blanks, `code`,
# **bold** and [links](..). A row of a table becomes a tagged paragraph, its further cells under their head line.
function words(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    gsub(/"/, "\\(dq", text)
    return text
}
function inline(text,    out, kept) {
    gsub(/``/, "`\001`", text)
    while (match(text, /\]\([^)]*\)/)) { # [text](address): the text
        kept = substr(text, 1, RSTART - 1)
        sub(/\[[^\[]*$/, "&\002", kept)
        match(kept, /\[[^\[]*\002$/)
        out = substr(kept, 1, RSTART - 1) substr(kept, RSTART + 1, RLENGTH - 2)
        match(text, /\]\([^)]*\)/)
        text = out substr(text, RSTART + RLENGTH)
    }
    text = words(text)
    out = ""
    while (match(text, /`[^`]*`|\*\*[^*]*\*\*/)) {
        kept = substr(text, RSTART, RLENGTH)
        gsub(/`|\*\*/, "", kept)
        out = out substr(text, 1, RSTART - 1) "\\fB" kept "\\fR"
        text = substr(text, RSTART + RLENGTH)
    }
    text = out text
    gsub(/\001/, "", text)
    return text
}
# A line that begins with a dot would be a request.
function line(text) { print (text ~ /^[.]/ ? "\\&" : "") text }
function paragraph() {
    if (text != "") {
        if (!fresh) print ".PP"
        line(inline(text))
        fresh = 0
    }
    text = ""
}
function code_ends() { if (code) print ".fi"; code = 0 }
function heading(request, title) {
    paragraph(); code_ends()
    print request " " inline(title)
    fresh = 1; head = 0
}
function row(    n, cell, i) {
    n = split($0, cell, / *\| */) # the first and the last are what is outside the bars
    if (!head) { for (i = 2; i < n; i++) title[i] = cell[i]; head = 1; return }
    if ($0 ~ /^\|[-|]+\|$/) return
    print ".TP"
    line(inline(cell[2]))
    line(inline(cell[3]))
    for (i = 4; i < n; i++) { print ".br"; print "\\fI" inline(title[i]) "\\fR: " inline(cell[i]) }
    fresh = 0
}
BEGIN {
    print ".TH RESULTS.TSV 5 @DATE@ \"lineage @VERSION@\" \"File Formats\"\n.nh"
    print ".SH NAME\nresults.tsv \\- the log of a store of trials, and the files beside it"
    print ".SH DESCRIPTION"
    fresh = 1
}
/^# / { next }
/^## / { heading(".SH", toupper(substr($0, 4))); next }
/^### / { heading(".SS", substr($0, 5)); next }
/^\|/ { paragraph(); code_ends(); row(); next }
/^    / {
    paragraph()
    if (!code) { print (fresh ? "" : ".PP\n") ".nf" }
    code = 1; fresh = 0
    line(words(substr($0, 5)))
    next
}
/^$/ { paragraph(); code_ends(); head = 0; next }
{ text = text (text == "" ? "" : "\n") $0 }
END {
    paragraph(); code_ends()
    print ".SH SEE ALSO\n\\fBlineage\\fR(1),\n\\fBlineage\\-verify\\fR(1),\n\\fBlineage\\fR(7)"
}

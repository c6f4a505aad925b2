# lineage(1) completion for bash. The words come from `lineage complete`; this script only passes them to bash.

_lineage() {
    local rest=${COMP_LINE:0:COMP_POINT} word blanks answer about files='' typed_on=yes i
    local -a words=()

    # bash splits words at = and :, which are part of options, ranges and times. Here only blanks separate words.
    rest=${rest#*"${COMP_WORDS[0]}"}
    for ((i = 1; i <= COMP_CWORD; i++)); do
        blanks=${rest%%[![:blank:]]*}
        rest=${rest#"$blanks"}
        word=${COMP_WORDS[i]}
        [[ $i -lt $COMP_CWORD && $rest == "$word"* ]] || word=$rest
        rest=${rest#"$word"}
        ((i == COMP_CWORD)) || word=${word//[\"\'\\]/} # the shell would remove these itself
        if [[ ${#words[@]} -gt 0 && -z $blanks ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
    done
    # bash also replaces only the part after the last = or :.
    word=${words[${#words[@]} - 1]}
    local end=$word
    for i in = :; do
        [[ $COMP_WORDBREAKS == *"$i"* ]] && end=${end##*"$i"}
    done
    local kept=${word%"$end"}

    COMPREPLY=()
    while IFS=$'\t' read -r answer about; do
        case $answer in
        :file) files=-f ;;
        :directory) files=-d ;;
        *)
            COMPREPLY+=("${answer#"$kept"}")
            [[ $answer == *= ]] || typed_on=no
            ;;
        esac
    done < <("${COMP_WORDS[0]}" complete "${words[@]}" 2>/dev/null)
    if [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r answer; do
            COMPREPLY+=("$answer")
        done < <(compgen "$files" -- "$end")
    elif [[ ${#COMPREPLY[@]} -gt 0 && $typed_on == yes ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -F _lineage lineage

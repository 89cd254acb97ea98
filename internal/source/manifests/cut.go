package manifests

import "bytes"

// cutItems takes the list under the top-level key "items" out of a document and
// cuts it where its items start, as a text and without understanding it. What
// stands in the text of an item (a block of literal text, say) is indented
// deeper than the item, so it is not mistaken for one. It is false where the
// document has no such list. The rest keeps the key, without a value.
func cutItems(document []byte) (rest []byte, items [][]byte, ok bool) {
	start, found := itemsLine(document)
	if !found {
		return nil, nil, false
	}
	first, indent, found := firstItem(document, start)
	if !found {
		return nil, nil, false
	}
	at, last := first, first
	for at < len(document) {
		line, next := lineAt(document, at)
		starts, inside := role(line, indent)
		if !inside {
			break
		}
		if starts && at > last {
			items = append(items, document[last:at])
			last = at
		}
		at = next
	}
	rest = append(bytes.Clone(document[:start]), document[at:]...)
	return rest, append(items, document[last:at]), true
}

// itemsLine finds the key and returns where the line behind it starts.
func itemsLine(document []byte) (start int, found bool) {
	for at := 0; at < len(document); {
		line, next := lineAt(document, at)
		if rest, ok := bytes.CutPrefix(line, []byte("items:")); ok && empty(rest) {
			return next, true
		}
		at = next
	}
	return 0, false
}

// firstItem finds where the first item's line starts and how far it is indented.
func firstItem(document []byte, at int) (start, indent int, found bool) {
	for at < len(document) {
		line, next := lineAt(document, at)
		if !empty(line) {
			indent := indentOf(line)
			starts, _ := role(line, indent)
			return at, indent, starts
		}
		at = next
	}
	return 0, 0, false
}

// role tells whether a line starts an item at an indentation, and whether it is
// a part of the list at all.
func role(line []byte, indent int) (starts, inside bool) {
	if empty(line) {
		return false, true
	}
	at := indentOf(line)
	if at != indent {
		return false, at > indent
	}
	text := line[at:]
	starts = text[0] == '-' && (len(text) == 1 || text[1] == ' ' || text[1] == '\t')
	return starts, starts
}

// empty tells whether a line is space or a comment.
func empty(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

func indentOf(line []byte) int {
	return len(line) - len(bytes.TrimLeft(line, " "))
}

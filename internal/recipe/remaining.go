package recipe

// Remaining returns those of the listed nodes that may still be ahead of self, if all below floor have gone
// since. With self's own, they are all that another list may show up to self: newcomers get larger numbers,
// and no name comes again. It returns false if that is not so, or there are more than most.
func Remaining(listed []Node, self Node, floor int32, most int) (ahead []Node, ok bool) {
	shown := false
	for _, n := range listed {
		switch {
		case n.Name == self.Name:
			shown = true
		case n.Sequence > self.Sequence:
		case n.Kind == Write || n.Foreign || n.Unordered(): // it may leave a node in its place, or stay behind floor
			return nil, false
		case n.Sequence < floor:
		case len(ahead) == most:
			return nil, false
		default:
			ahead = append(ahead, n)
		}
	}
	return ahead, shown && !self.Unordered()
}

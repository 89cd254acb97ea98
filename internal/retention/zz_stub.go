package retention

func (p *Plan) Fingerprint() string { return "stub" }
func (p *Plan) Nothing() bool       { return p.Totals.Delete == 0 }

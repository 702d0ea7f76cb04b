package policy

// What the tests of one step call, where a verdict would show it only among others.
var (
	Avoided          = avoided
	AvoidedAfter     = avoidedAfter
	Budgets          = budgets
	Charge           = charge
	Describe         = describe
	Explain          = explain
	Fit              = fit
	JobRestartsInRow = jobRestartsInRow
)

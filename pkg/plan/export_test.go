package plan

// SparesInTheWay is tested by itself: a plan shows it only as far as there are spares.
var SparesInTheWay = sparesInTheWay

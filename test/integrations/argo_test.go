package integrations

import (
	_ "github.com/argoproj/argo-workflows/v3/workflow/validate"
	_ "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	_ "github.com/yuin/gopher-lua"
)

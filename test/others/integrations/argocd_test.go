package integrations

import (
	"encoding/json"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
)

// Argo CD runs health scripts with gopher-lua, the object as the global obj, and no libraries but these.
func TestArgoCD(t *testing.T) {
	var settings corev1.ConfigMap
	manifest(t, "argocd/argocd-cm.yaml", &settings)
	script := settings.Data["resource.customizations.health.trainingjob.dev_TrainingJob"]
	want := map[string][2]string{
		"unseen":     {"Progressing", "The operator has not looked at the job yet."},
		"pending":    {"Progressing", "0/4 nodes are available"},
		"running":    {"Progressing", "All replicas run."},
		"hanging":    {"Degraded", "No progress: worker-0 has not reported for 10s"},
		"restarting": {"Progressing", ""},
		"suspended":  {"Suspended", ""},
		"succeeded":  {"Healthy", ""},
		"failed":     {"Degraded", "trian.py: not found"},
	}
	for _, name := range jobs {
		status, message := health(t, script, recorded(t, name).Object)
		if status != want[name][0] || !strings.Contains(message, want[name][1]) {
			t.Errorf("%s is %s (%s), want %s (%s)", name, status, message, want[name][0], want[name][1])
		}
		if message == "" {
			t.Errorf("%s has no message", name)
		}
	}
	stale := recorded(t, "succeeded")
	stale.SetGeneration(stale.GetGeneration() + 1)
	if status, _ := health(t, script, stale.Object); status != "Progressing" {
		t.Errorf("a job whose spec the operator has not seen is %s", status)
	}
}

// health runs the script on an object.
func health(t *testing.T, script string, object map[string]any) (status, message string) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		l.Push(l.NewFunction(open))
		l.Call(0, 0)
	}
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	l.SetGlobal("obj", valueOf(l, plain))
	if err := l.DoString(script); err != nil {
		t.Fatal(err)
	}
	answer, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %s", l.Get(-1).Type())
	}
	return answer.RawGetString("status").String(), answer.RawGetString("message").String()
}

// valueOf returns JSON as Lua has it.
func valueOf(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	case []any:
		table := l.NewTable()
		for _, each := range v {
			table.Append(valueOf(l, each))
		}
		return table
	case map[string]any:
		table := l.NewTable()
		for key, each := range v {
			table.RawSetString(key, valueOf(l, each))
		}
		return table
	}
	return lua.LNil
}

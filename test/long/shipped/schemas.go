// Reads shipped files by the schemas that their programs publish: an unknown field, or a value of another type, is a
// finding. .ci/run builds it in a module of its own.
//
//	schemas dashboard|compose|monitor FILE...
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

var kinds = map[string]func(name string) error{
	"dashboard": func(name string) error {
		var board dashboard.Dashboard
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := board.UnmarshalJSONStrict(text); err != nil {
			return err
		}
		return board.Validate()
	},
	"compose": func(name string) error {
		options, err := cli.NewProjectOptions([]string{name}, cli.WithOsEnv)
		if err != nil {
			return err
		}
		_, err = options.LoadProject(context.Background())
		return err
	},
	"monitor": func(name string) error {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return yaml.UnmarshalStrict(text, &monitoring.ServiceMonitor{})
	},
}

func main() {
	plugins.RegisterDefaultPlugins()
	code := 0
	for _, name := range os.Args[2:] {
		// An empty list of Grafana's errors is not nil.
		if err := kinds[os.Args[1]](name); err != nil && err.Error() != "" {
			fmt.Printf("%s: %v\n", name, err)
			code = 1
		}
	}
	os.Exit(code)
}

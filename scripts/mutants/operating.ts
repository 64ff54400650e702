/** Surfaces: operations are performed and told as their rows say, and worlds are known by what they can do. */
import type { Change, Mutant } from "./mutant.ts";

const without = (name: string, file: string, ...changes: readonly Change[]): Mutant => ({
  name: `surfaces: ${name}`,
  changes,
  killedBy: { kind: "tests", file },
});

const API = "src/api/operations.ts";
const API_TEST = "test/api/operations.test.ts";
const SAYING = "src/operations/look-then-deliver.ts";
const WORLDS_TEST = "test/cli/worlds.test.ts";

export const OPERATING: readonly Mutant[] = [
  without("a route that is made from its row reads runs of other tenants", API_TEST, {
    file: API,
    from: 'const row = run === undefined ? null : await find(asked, typeof run === "string" ? run : "");',
    to: "const row = null;",
  }),
  without("a route that is made from its row records no caller", API_TEST, {
    file: API,
    from: "by: caller.actor, tenant",
    to: 'by: "unknown", tenant',
  }),
  without("a row with a place over HTTP has no route", API_TEST, {
    file: "src/api/app.ts",
    from: "of routes.plainRoutes(rows)",
    to: "of routes.plainRoutes({})",
  }),
  without("an input that does not fit its row is performed", "test/operations/table.test.ts", {
    file: "src/operations/operation.ts",
    from: "run(context, input.parse(given))",
    to: "run(context, given as never)",
  }),
  without("a second message of one ID counts as delivered", "test/operations/assign.test.ts", {
    file: SAYING,
    from: 'if (delivered === "duplicate") return judged.onDuplicate();',
    to: 'if (delivered === "duplicate") return judged.onDelivered();',
  }),
  without("a message to a run that has ended meanwhile goes to none", "test/operations/look-then-deliver.test.ts", {
    file: SAYING,
    from: 'kind: delivered === "late" ? "late" : "missing"',
    to: 'kind: "missing"',
  }),
  without("a world that cannot be killed takes chaos", WORLDS_TEST, {
    file: "src/cli/commands/chaos.ts",
    from: "if (!provider.can.kill) throw",
    to: "if (provider.name === '') throw",
  }),
  without("a world that a service drives is supervised", WORLDS_TEST, {
    file: "src/adapters/aws/provider.ts",
    from: "driver: DRIVER,",
    to: "driver: null,",
  }),
  without("variables that are missing are not named", WORLDS_TEST, {
    file: "src/adapters/aws/provider.ts",
    from: "if (missing.length > 0) {",
    to: "if (missing.length > 9) {",
  }),
];

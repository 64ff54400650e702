/** Rules of the machine of Step Functions and of what its functions answer, each switched off once. */
import { type Change, type Mutant, off } from "./mutant.ts";

const ASL = "src/adapters/aws/asl.ts";
const MOVING = { kind: "tests", file: "test/infra/machine.test.ts" } as const;

const by = (name: string, from: string, to: string): Mutant => ({
  name: `machine: ${name}`,
  changes: [{ file: ASL, from, to }],
  killedBy: MOVING,
});

const elsewhere = (name: string, file: string, of: Omit<Change, "file"> & { readonly killedBy: string }): Mutant => ({
  name: `machine: ${name}`,
  changes: [{ file, from: of.from, to: of.to }],
  killedBy: { kind: "tests", file: of.killedBy },
});

export const MACHINE: readonly Mutant[] = [
  off(101, "an outage is taken for the death", { file: ASL, from: 'counting("$.died")', to: 'counting("$.tries")' }),
  off(101, "a death leaves no trace", { file: ASL, from: 'Died: counting("$.tries")', to: 'Died: counting("$.died")' }),
  by("tries of an entry are not counted", "States.MathAdd($.tries, ${RETRY_GROUP})", "States.MathAdd($.tries, 0)"),
  elsewhere("a run that was parked goes on with the code that it waited under", "src/adapters/aws/machine-input.ts", {
    from: '=== "Park" ? LIVE : code',
    to: '=== "Renew" ? LIVE : code',
    killedBy: "test/infra/machine.test.ts",
  }),
  elsewhere("a deployment changes the code between two beats", "src/adapters/aws/machine-input.ts", {
    from: "return firstInput(reply, code);",
    to: "return firstInput(reply);",
    killedBy: "test/infra/machine.test.ts",
  }),
  elsewhere("every execution is answered by errors", "functions/machine.ts", {
    from: '"died" in attempt ? nextInput(reply, code) : reply',
    to: "nextInput(reply, code)",
    killedBy: "test/infra/machine.test.ts",
  }),
  elsewhere("a task that met a store that does not answer tells no operator", "functions/invocation.ts", {
    from: "error instanceof StoreUnreachable",
    to: "error instanceof StoreUnreachable && run === null",
    killedBy: "test/functions/functions.test.ts",
  }),
  elsewhere("routes are shown as failures", "infra/dashboard.ts", {
    from: "FUNCTIONS.filter((fn) => !MAY_FAIL.has(fn)).map(",
    to: "FUNCTIONS.map(",
    killedBy: "test/infra/watches.test.ts",
  }),
  elsewhere("an operator is shown routes as deaths", "infra/log-queries.ts", {
    from: ' || $.record.errorType != "${ROUTE_ERROR}*")',
    to: ")",
    killedBy: "test/infra/watches.test.ts",
  }),
  elsewhere("every deployment has one name", "infra/plan.ts", {
    from: "`${name} ${digest}`",
    to: "`${name}`",
    killedBy: "test/infra/plan.test.ts",
  }),
  by("a store that does not answer is a death", '["StoreUnreachable", "Undecided", ...', '["Undecided", ...'),
  by("a pause knows no bound", 'NumericGreaterThan: backoffSeconds }, "Cap"', 'NumericGreaterThan: 1e6 }, "Cap"'),
  by("a rescue is not told of a death", '"retry.$": "$.died" };', '"retry.$": "$.rescue" };'),
  by(
    "retries that Step Functions makes by itself do not count",
    "States.MathAdd($.tries, $$.State.RetryCount)",
    "States.MathAdd($.tries, 0)",
  ),
];

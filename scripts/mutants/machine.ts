/** Rules of the machine of Step Functions and of what its functions answer, each switched off once. */
import { type Mutant, off } from "./mutant.ts";

const ASL = "infra/asl.ts";
const MOVING = { kind: "tests", file: "test/infra/machine.test.ts" } as const;

const by = (name: string, from: string, to: string): Mutant => ({
  name: `machine: ${name}`,
  changes: [{ file: ASL, from, to }],
  killedBy: MOVING,
});

export const MACHINE: readonly Mutant[] = [
  off(101, "an outage is taken for the death", { file: ASL, from: 'counting("$.died")', to: 'counting("$.tries")' }),
  off(101, "a death leaves no trace", { file: ASL, from: 'Died: counting("$.tries")', to: 'Died: counting("$.died")' }),
  by("tries of an entry are not counted", "States.MathAdd($.tries, ${RETRY_GROUP})", "States.MathAdd($.tries, 0)"),
  {
    name: "machine: every execution is answered by errors",
    changes: [
      {
        file: "functions/machine.ts",
        from: '"died" in attempt ? nextInput(reply) : reply',
        to: "nextInput(reply)",
      },
    ],
    killedBy: MOVING,
  },
  by("a store that does not answer is a death", '["StoreUnreachable", "Undecided", ...', '["Undecided", ...'),
  by(
    "a pause knows no bound",
    'NumericGreaterThan: backoffSeconds, Next: "Cap"',
    'NumericGreaterThan: 1e6, Next: "Cap"',
  ),
  by("a rescue is not told of a death", '"retry.$": "$.died" };', '"retry.$": "$.rescue" };'),
  by(
    "retries that Step Functions makes by itself do not count",
    "States.MathAdd($.tries, $$.State.RetryCount)",
    "States.MathAdd($.tries, 0)",
  ),
];

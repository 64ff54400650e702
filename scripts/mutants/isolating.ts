/** Rules that keep agents of one deployment apart, each switched off once. */
import type { Mutant } from "./mutant.ts";

const by = (
  name: string,
  of: { readonly file: string; readonly from: string; readonly to: string; readonly tests: string },
): Mutant => ({
  name: `isolation: ${name}`,
  changes: [{ file: of.file, from: of.from, to: of.to }],
  killedBy: { kind: "tests", file: of.tests },
});

const ASL = "infra/asl.ts";
const TESTS = "test/infra/isolation.test.ts";
const PAYLOADS = "test/protocol/payload-agent.test.ts";

export const ISOLATING: readonly Mutant[] = [
  by("an agent without a function is taken for a death", {
    ...{ file: ASL, from: "Catch: [NOT_THERE, ...BEAT_CATCH]", to: "Catch: BEAT_CATCH", tests: TESTS },
  }),
  by("an attempt of the shared function is refused by one of the agent's function", {
    ...{
      file: ASL,
      from: "States.MathAdd($.tries, ${RETRY_GROUP / 2})",
      to: "States.MathAdd($.tries, 0)",
      tests: TESTS,
    },
  }),
  by("a failed beat forgets whose it is", {
    ...{ file: ASL, from: "Parameters: {\n    ...payload,", to: "Parameters: {\n    ...PAYLOAD,", tests: TESTS },
  }),
  by("versions of the shared function are taken for those of the agent's function", {
    ...{ file: "functions/machine.ts", from: "shared ? LIVE : code", to: "code", tests: TESTS },
  }),
  by("a beat answers with the agent that it was told", {
    ...{
      file: "src/engine/loop/beat.ts",
      from: "({ run, born, chain, epoch, agent }: Row): Payload => ({ run, born, chain, epoch, agent })",
    },
    ...{
      to: '({ run, born, chain, epoch }: Row): Payload => ({ run, born, chain, epoch, agent: "" })',
      tests: PAYLOADS,
    },
  }),
  by("a hand-over forgets whose run it is", {
    ...{ file: "src/engine/loop/executions.ts", from: "agent: row.agent });", to: 'agent: "" });', tests: PAYLOADS },
  }),
  by("an execution that began without an agent is damaged", {
    ...{ file: "src/codec/row.ts", from: 'agent: text.default("")', to: "agent: text", tests: PAYLOADS },
  }),
  by("each function knows the secrets of all agents", {
    ...{
      file: "infra/plan.ts",
      from: "agentFunction(agent) === fn)?.secrets",
      to: 'agentFunction(agent) === "beat_")?.secrets',
      tests: TESTS,
    },
  }),
  by("agents whose names differ in case have one role", {
    ...{ file: "infra/names.ts", from: "others.get(agent.toLowerCase())", to: "others.get(agent)", tests: TESTS },
  }),
  by("a rollout without a name moves the first agent's function", {
    ...{ file: "src/cli/commands/rollout.ts", from: "fn === undefined || others.length > 0", to: "fn === undefined" },
    tests: "test/cli/rollout.test.ts",
  }),
  by("the doctor misses no function of an agent", {
    ...{
      file: "src/doctor/aws-functions.ts",
      from: "if (look === undefined) return missing;",
      to: 'if (look === undefined) return ok("");',
    },
    tests: "test/doctor/functions.test.ts",
  }),
];

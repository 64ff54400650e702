/** Checks of the functions of a deployment, and of the separate functions of isolated agents. */
import { areDescribed } from "../described-agents.ts";
import type { FunctionSeen } from "./machine-inspection.ts";
import type { AwsCase } from "./check-account.ts";
import { type DiagnosisCheck, type CheckVerdict, fail, needing, ok, warn, worstOf } from "../../../ports/diagnosis.ts";
import { judgeLook, judgeSeen } from "./judge-probe.ts";

const AGAIN = "deploy again";
const RUNTIME = "nodejs24.x";

/** Judges the settings that every function of a deployment needs. */
export function judgeFunction({ arn, state, runtime, architecture, reserved }: FunctionSeen): CheckVerdict {
  const why = `${nameIn(arn)}: ${runtime}, ${architecture}, ${state}`;
  const unreserve = `aws lambda delete-function-concurrency --function-name ${arn}`;
  if (reserved === 0) return fail(`${why}, and may never run: 0 concurrency is reserved for it`, unreserve);
  if (runtime !== RUNTIME) return fail(`${why}; it needs ${RUNTIME}`, AGAIN);
  // An inactive function wakes when it is invoked.
  if (!["Active", "Inactive"].includes(state)) return fail(why, AGAIN);
  return architecture === "arm64" ? ok(why) : warn(`${why}; arm64 costs a fifth less`, AGAIN);
}

const nameIn = (arn: string): string => arn.split(":")[6] ?? arn;

const ELSEWHERE =
  "run doctor in the folder of that project, or name this project's deployment in CAIRN_TABLE, CAIRN_BUCKET and CAIRN_MACHINE";

/** True if the deployment has none of these agents. With many agents its description does not name all. */
const isOfOther = (agents: readonly string[], { described }: FunctionSeen): boolean =>
  described !== null && described.isWhole && !agents.some((agent) => described.names.includes(agent));

/** Compares the agents of this folder with those that were deployed: it may be the folder of another project. */
export const DEPLOYED_CHECK: DiagnosisCheck<AwsCase> = {
  id: "agents-deployed",
  says: "the deployment has the agents of cairn.config.ts",
  needs: ["function-beat"],
  judge: ({ aws, agents }) => {
    if (agents === null) return ok("there is no cairn.config.ts here");
    return judgeSeen(aws.functions.beat, (beat) => {
      const { described } = beat;
      if (described === null) return warn("it does not say which agents it has", AGAIN);
      if (areDescribed(agents, described)) return ok(described.names.join(", "));
      const whole = described.isWhole ? "" : " and others";
      const has = `the deployment has ${described.names.join(", ") || "none"}${whole}, and cairn.config.ts has ${agents.join(", ") || "none"}`;
      return isOfOther(agents, beat) ? warn(`${has}: another project was deployed there`, ELSEWHERE) : warn(has, AGAIN);
    });
  },
};

/**
 * Checks the functions of isolated agents, unless another project was deployed, whose functions are not theirs. A missing function only warns, because the agent's beats then run in the
 * shared function.
 */
export const AGENTS_CHECK: DiagnosisCheck<AwsCase> = {
  id: "function-agents",
  says: "each isolated agent of cairn.config.ts has a function of its own, configured like the shared one",
  needs: ["machine-definition", "function-beat"],
  judge: ({ aws, isolated }) =>
    judgeSeen(aws.machine, ({ calls }) =>
      judgeSeen(aws.functions.beat, (beat) => {
        if (isolated.length === 0) return ok("cairn.config.ts isolates no agent");
        if (isOfOther(isolated, beat)) return needing(DEPLOYED_CHECK.id);
        if (calls.agents === null) {
          return warn(`${isolated.join(", ")} share the function beat, and cairn.config.ts isolates them`, "deploy");
        }
        return worst(isolated.map((agent) => judgeAgent(agent, { aws, beat })));
      }),
    ),
};

function judgeAgent(
  agent: string,
  { aws, beat }: { readonly aws: AwsCase["aws"]; readonly beat: FunctionSeen },
): CheckVerdict {
  const look = aws.agents[agent];
  const missing = warn(
    `agent ${agent} has no function: its runs wait, or continue in the function that agents share`,
    "deploy",
  );
  if (look === undefined) return missing;
  return judgeLook(look, {
    missing,
    seen: (seen) => {
      const verdict = judgeFunction(seen);
      if (verdict.status === "fail") return verdict;
      const why = nameIn(seen.arn);
      if (seen.timeoutSeconds !== beat.timeoutSeconds)
        return fail(`${why} has a timeout of ${seen.timeoutSeconds} s, and beat has ${beat.timeoutSeconds} s`, AGAIN);
      const others = Object.keys({ ...beat.env, ...seen.env }).filter(
        (name) => name !== OWN && beat.env[name] !== seen.env[name],
      );
      return others.length === 0
        ? verdict
        : fail(`${why} and beat have different environment variables: ${others.join(", ")}`, AGAIN);
    },
  });
}

/** The variable with the names of an agent's secrets, which differs between functions. */
const OWN = "CAIRN_PARAMETERS";

/** Combines verdicts into one, with the repair of the worst. */
function worst(verdicts: readonly CheckVerdict[]): CheckVerdict {
  const status = worstOf(verdicts.map((each) => each.status));
  const those = verdicts.filter((each) => each.status === status);
  return { status, why: those.map(({ why }) => why).join("; "), mend: those[0]?.mend ?? null };
}

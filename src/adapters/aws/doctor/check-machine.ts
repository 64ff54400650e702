/** Checks of the state machine against the definition that this code generates, and of the functions that it calls. */
import { isDeepStrictEqual } from "node:util";
import { type MachineTimes, TASK_MARGIN_SECONDS, definitionOf } from "../machine/asl.ts";
import { READ } from "../function-environment.ts";
import type { FunctionRole, FunctionSeen, MachineSeen } from "./machine-inspection.ts";
import { limitsFor } from "../../../protocol/limits.ts";
import type { AwsCase } from "./check-account.ts";
import { AGENTS_CHECK, DEPLOYED_CHECK, judgeFunction } from "./check-functions.ts";
import { type DiagnosisCheck, type CheckVerdict, fail, ok, warn } from "../../../ports/diagnosis.ts";
import { judgeLook, judgeSeen } from "./judge-probe.ts";

const AGAIN = "deploy again";
const ROLES: readonly FunctionRole[] = ["beat", "park", "sweep", "cleanup"];

export const MACHINE_CHECKS: readonly DiagnosisCheck<AwsCase>[] = [
  {
    id: "machine",
    says: "the machine is there",
    judge: ({ aws }) =>
      judgeLook(aws.machine, {
        missing: fail(`there is no machine ${aws.names.machine}`, "deploy, or check CAIRN_MACHINE"),
        unreachable: true,
        seen: ({ status, type }) => {
          if (type !== "STANDARD")
            return fail(`it is ${type}: a machine of this type cannot wait for longer than minutes`, AGAIN);
          return status === "ACTIVE" ? ok(`${type}, ${status}`) : fail(`it is ${status}`, AGAIN);
        },
      }),
  },
  {
    id: "machine-definition",
    says: "the machine was deployed by this version of cairn",
    needs: ["machine"],
    judge: ({ aws }) => judgeSeen(aws.machine, judgeDefinition),
  },
  ...ROLES.map(functionCheck),
  DEPLOYED_CHECK,
  AGENTS_CHECK,
  {
    id: "times",
    says: "each task outlasts its function, and each function its work",
    needs: ["machine-definition", "function-beat", "function-sweep"],
    judge: judgeTimes,
  },
  {
    id: "environment",
    says: "the functions use this table, bucket and machine",
    needs: ROLES.map((role) => `function-${role}`),
    judge: judgeEnvironment,
  },
  {
    id: "secrets",
    says: "no function has a secret in its environment",
    needs: ROLES.map((role) => `function-${role}`),
    judge: ({ aws }) => {
      const ofAgents = Object.entries(aws.agents).flatMap(([agent, look]) =>
        look.kind === "seen" ? [[`the function of ${agent}`, look.seen] as const] : [],
      );
      const named = [...seenIn(aws), ...ofAgents].flatMap(([whose, { secrets }]) =>
        secrets.map((name) => `${name} of ${whose}`),
      );
      const mend =
        "declare it in the agent's secrets and keep it in the Parameter Store (docs/secrets.md), then deploy again";
      return named.length === 0
        ? ok("no variable looks like a secret by its name")
        : warn(`by their names: ${named.join(", ")}`, mend);
    },
  },
];

interface State {
  readonly TimeoutSeconds?: number;
  readonly Seconds?: number;
  readonly Result?: number;
  readonly Choices?: readonly Compared[];
}

/** The comparison of a choice. It tests first whether the compared value exists. */
interface Compared {
  readonly And?: readonly { readonly NumericGreaterThanEquals?: number }[];
}

interface Stored {
  readonly States?: { readonly [name: string]: State };
}

/**
 * Compares the stored definition with the generated one. The names and times of the stored definition are taken as
 * given.
 */
function judgeDefinition({ definition, calls }: MachineSeen): CheckVerdict {
  const stored = storedIn(definition);
  const { beat, park, sweep, agents } = calls;
  if (stored === null || beat === null || park === null || sweep === null) {
    return fail("its definition was not made by cairn", "check CAIRN_MACHINE, or deploy again");
  }
  const seconds = secondsIn(stored);
  const ours = JSON.parse(
    JSON.stringify(
      definitionOf({ functions: { beat, park, sweep, ...(agents === null ? {} : { agents }) }, ...seconds }),
    ),
  ) as Required<Stored>;
  if (isDeepStrictEqual(stored, ours)) return ok("its definition is that of this version");
  const names = [...new Set([...Object.keys(ours.States), ...Object.keys(stored.States ?? {})])];
  const other = names.filter((name) => !isDeepStrictEqual(ours.States[name], stored.States?.[name]));
  const where = other.length === 0 ? "its top level differs" : `other states: ${other.join(", ")}`;
  return warn(`another version of cairn made its definition (${where})`, AGAIN);
}

function secondsIn({ States = {} }: Stored): MachineTimes {
  const [most] = States["Again"]?.Choices ?? [];
  const taskSeconds = (state: string): number => (States[state]?.TimeoutSeconds ?? 0) - TASK_MARGIN_SECONDS;
  return {
    beatSeconds: taskSeconds("Beat"),
    sweepSeconds: taskSeconds("Rescue"),
    rescueSeconds: States["Backoff"]?.Seconds ?? 0,
    triesMax: most?.And?.[1]?.NumericGreaterThanEquals ?? 0,
    backoffSeconds: States["Cap"]?.Result ?? 0,
  };
}

function storedIn(definition: string): Stored | null {
  try {
    return JSON.parse(definition) as Stored;
  } catch {
    return null;
  }
}

function functionCheck(role: FunctionRole): DiagnosisCheck<AwsCase> {
  return {
    id: `function-${role}`,
    says: `the function ${role} is there, and runs the expected code`,
    judge: ({ aws }) =>
      judgeLook(aws.functions[role], {
        missing: fail("it does not exist", AGAIN),
        seen: judgeFunction,
      }),
  };
}

type Aws = AwsCase["aws"];

const seenIn = ({ functions }: Aws): readonly (readonly [FunctionRole, FunctionSeen])[] =>
  ROLES.flatMap((role) => {
    const look = functions[role];
    return look.kind === "seen" ? [[role, look.seen] as const] : [];
  });

function judgeTimes({ aws }: AwsCase): CheckVerdict {
  return judgeSeen(aws.machine, ({ definition }) =>
    judgeSeen(aws.functions.beat, (beat) =>
      judgeSeen(aws.functions.sweep, (sweep) => {
        const { beatSeconds, sweepSeconds } = secondsIn(storedIn(definition) ?? {});
        const told = Number(beat.env["CAIRN_BEAT_SECONDS"]);
        const task = `Its task waits ${beatSeconds + TASK_MARGIN_SECONDS} s`;
        if (beat.timeoutSeconds >= beatSeconds + TASK_MARGIN_SECONDS) {
          return fail(
            `beat has a timeout of ${beat.timeoutSeconds} s. ${task}, so it takes a running beat for dead`,
            AGAIN,
          );
        }
        if (sweep.timeoutSeconds >= sweepSeconds + TASK_MARGIN_SECONDS) {
          return fail(`sweep has a timeout of ${sweep.timeoutSeconds} s, as long as its task or longer`, AGAIN);
        }
        if (told > beat.timeoutSeconds) {
          return fail(
            `beat has a timeout of ${beat.timeoutSeconds} s, but its setting says ${told} s: calls may never have enough time to start`,
            AGAIN,
          );
        }
        return ok(`beat ${beat.timeoutSeconds} s, sweep ${sweep.timeoutSeconds} s, each less than its task`);
      }),
    ),
  );
}

/**
 * Checks environment variables. A function gets only the variables that it reads; the parking function, for example,
 * knows no bucket.
 */
function judgeEnvironment({ aws }: AwsCase): CheckVerdict {
  const { table, bucket, machine } = aws.names;
  const wanted = { CAIRN_TABLE: table, CAIRN_BUCKET: bucket, CAIRN_MACHINE: machine } as const;
  const wrong = seenIn(aws).flatMap(([role, { env }]) =>
    Object.entries(wanted).flatMap(([name, value]) =>
      env[name] === value || !reads(role, name) ? [] : [`${name} of ${role} is ${env[name] ?? "not set"}`],
    ),
  );
  if (wrong.length > 0)
    return fail(wrong.join("; "), `${AGAIN}, or set the names of the stores that this machine uses`);
  const broken = seenIn(aws).flatMap(([role, { env }]) =>
    reads(role, "CAIRN_LIMITS") && !limitsFit(env) ? [role] : [],
  );
  return broken.length === 0
    ? ok("the same in all functions that read it")
    : fail(
        `the limits of ${broken.join(", ")} do not fit together: it cannot start`,
        `correct CAIRN_LIMITS, then ${AGAIN}`,
      );
}

const reads = (role: FunctionRole, name: string): boolean => READ[role].some((each) => each === name);

function limitsFit(env: FunctionSeen["env"]): boolean {
  try {
    limitsFor(Number(env["CAIRN_BEAT_SECONDS"]) * 1_000, JSON.parse(env["CAIRN_LIMITS"] || "{}") as object);
    return true;
  } catch {
    return false;
  }
}

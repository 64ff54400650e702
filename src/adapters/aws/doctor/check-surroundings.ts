/** Checks of what surrounds the state machine: the clean-up behind the stream, the sweeper's schedule, the alarms. */
import type { MappingSeen } from "./machine-inspection.ts";
import { TABLE } from "../table/schema.ts";
import type { AwsCase } from "./check-account.ts";
import { type DiagnosisCheck, type CheckVerdict, fail, ok, unknown, warn } from "../../../ports/diagnosis.ts";
import { judgeLook, judgeSeen } from "./judge-probe.ts";

const AGAIN = "deploy again";
/**
 * No sweep for this long means that the sweeper is down. A sweep starts every few minutes, and may leave work to the
 * next one.
 */
const SWEEP_LATE_MS = 30 * 60_000;
const HOUR_MS = 3_600_000;
/** A search begins once a day, and takes hours in a store of millions of runs. */
const ORPHANS_LATE_MS = 72 * HOUR_MS;

export const AROUND_CHECKS: readonly DiagnosisCheck<AwsCase>[] = [
  {
    id: "stream-followed",
    says: "the objects of removed runs are deleted",
    needs: ["table-stream"],
    judge: ({ aws }) => judgeSeen(aws.cleanUp, ({ mappings }) => judgeMappings(mappings)),
  },
  {
    id: "stream-failures",
    says: "a clean-up that gives up leaves a dead letter",
    needs: ["stream-followed"],
    strict: true,
    judge: ({ aws }) =>
      judgeSeen(aws.cleanUp, ({ mappings }) => {
        const targets = mappings.flatMap(({ onFailure }) => onFailure ?? []);
        const why = "it has no on-failure destination: what it gives up waits for the daily search for orphans";
        return targets.length > 0 ? ok(targets.join(", ")) : warn(why, `${AGAIN}: the deployment sets the destination`);
      }),
  },
  {
    id: "sweeper-scheduled",
    says: "a schedule invokes the sweeper",
    needs: ["function-sweep"],
    strict: true,
    judge: ({ aws }) =>
      judgeSeen(aws.sweeper, ({ schedules }) => {
        const why = "a run whose execution is lost never continues";
        if (schedules.length === 0) return warn(`no schedule invokes it: ${why}`, AGAIN);
        const off = schedules.filter(({ isEnabled }) => !isEnabled).map(({ name }) => name);
        const mend = "enable it: EventBridge Scheduler, or deploy again";
        if (off.length === schedules.length) return fail(`switched off: ${off.join(", ")}; ${why}`, mend);
        // The schedules' inputs, which are not read, tell the sweep and the search for orphans apart.
        if (off.length > 0) return warn(`switched off: ${off.join(", ")}`, mend);
        return ok(schedules.map(({ name }) => name).join(", "));
      }),
  },
  {
    id: "sweeper-ran",
    says: "the sweeper has run recently",
    needs: ["table"],
    strict: true,
    judge: ({ aws }) =>
      judgeLook(aws.sweepTurn, {
        missing: unknown(
          "it never ran; a new deployment waits for its first schedule",
          "run doctor again in some minutes",
        ),
        seen: ({ until }) => {
          const lateMs = aws.at - until;
          const minutes = Math.max(0, Math.round(lateMs / 60_000));
          const mend = "check the schedule and the log of the function sweep";
          return lateMs > SWEEP_LATE_MS
            ? warn(`its last sweep ended ${minutes} minutes ago`, mend)
            : ok(`${minutes} minutes ago`);
        },
      }),
  },
  {
    id: "orphans-searched",
    says: "the daily search for orphans ends",
    needs: ["table"],
    strict: true,
    judge: ({ aws }) =>
      judgeLook(aws.orphansSearched, {
        missing: unknown("none has ended; a new deployment has its first within hours", "run doctor again tomorrow"),
        seen: ({ at }) => {
          const lateMs = aws.at - at;
          const hours = Math.max(0, Math.round(lateMs / HOUR_MS));
          const why = "objects of removed runs stay and are paid for, since no rule of the bucket deletes them";
          const mend = "check the schedule Orphans and the log of the function sweep";
          return lateMs > ORPHANS_LATE_MS
            ? warn(`the last one ended ${Math.round(hours / 24)} days ago: ${why}`, mend)
            : ok(`${hours} hours ago`);
        },
      }),
  },
  {
    id: "alarms",
    says: "alarms notify an operator when something is wrong",
    strict: true,
    judge: ({ aws }) =>
      judgeSeen(aws.alarms, ({ alarms }) => {
        if (alarms.length === 0)
          return warn("no alarm watches this deployment", `${AGAIN}: the deployment creates the alarms`);
        const ringing = alarms.filter(({ state }) => state === "ALARM").map(({ name }) => name);
        if (ringing.length > 0)
          return warn(`now in alarm: ${ringing.join(", ")}`, "see what they watch, in CloudWatch");
        const mute = alarms.filter(({ tellsSomebody }) => !tellsSomebody).map(({ name }) => name);
        const mend = "give them an action, such as an SNS topic that an operator reads";
        return mute.length === 0
          ? ok(`${alarms.length} alarms, none of them active`)
          : warn(`these alarms have no action, so no operator is notified: ${mute.join(", ")}`, mend);
      }),
  },
];

function judgeMappings(mappings: readonly MappingSeen[]): CheckVerdict {
  const [first] = mappings;
  if (first === undefined) return fail("no function reads the table's stream: objects of removed runs stay", AGAIN);
  const enabled = mappings.filter(({ state }) => state === "Enabled");
  if (enabled.length === 0)
    return fail(`the event source mapping of the stream is ${first.state}`, "enable its event source mapping");
  const fitting = enabled.filter(({ filters }) => filters.length === 0 || filters.some(letsThrough));
  if (fitting.length === 0) return fail("its filter passes no removed row of a run", AGAIN);
  if (!fitting.some(({ reportsFailures }) => reportsFailures)) {
    return fail("it does not report failures of single records, so a failed record counts as done", AGAIN);
  }
  return fitting.some(({ filters }) => filters.length > 0)
    ? ok(fitting.map((each) => each.function.split(":")[6] ?? each.function).join(", "))
    : warn("it has no filter, so every write of every run invokes it", AGAIN);
}

interface Pattern {
  readonly eventName?: readonly string[];
  readonly dynamodb?: { readonly Keys?: Readonly<Record<string, { readonly S?: readonly string[] }>> };
}

/**
 * Whether the filter passes every removed row, whatever process or expiry removed it. A filter with further conditions
 * may drop some.
 */
function letsThrough(filter: string): boolean {
  try {
    const { eventName, dynamodb = {}, ...more } = JSON.parse(filter) as Pattern;
    const { Keys = {}, ...others } = dynamodb;
    const { [TABLE.keys.sort]: item, ...keys } = Keys;
    const isNarrow = [more, others, keys].some((each) => Object.keys(each).length > 0);
    return !isNarrow && (eventName?.includes("REMOVE") ?? true) && (item?.S?.includes(TABLE.stream.item) ?? true);
  } catch {
    return false;
  }
}

/**
 * The ten points of a durable agent in production. Each point rests
 * on code that a test covers, and on checks of this deployment; the worst of these checks decides.
 */
import { type Judged, type CheckStatus, type CheckVerdict, ok, unknown, worstOf } from "../ports/diagnosis.ts";

interface Point {
  readonly id: string;
  readonly says: string;
  /** Files of cairn that establish the point by construction. */
  readonly shownBy: readonly string[];
  /** Checks that the point rests on. A world may lack some of them. */
  readonly restsOn: readonly string[];
  /** A command that verifies the point for an agent of the operator. The doctor does not run it. */
  readonly tried?: string;
}

/** The ten points. */
export const POINTS: readonly Point[] = [
  {
    id: "production-boundary",
    says: "only declared data is stored: transcript, ledger, budgets, handles, and no secret",
    shownBy: ["docs/persistence.md", "test/repo/persistence.test.ts", "test/repo/leaks.test.ts"],
    restsOn: ["secrets", "agents-secrets"],
  },
  {
    id: "production-events",
    says: "each step appends events under one rising version number per run",
    shownBy: ["test/protocol/row.test.ts", "test/simulation/checkers.ts"],
    restsOn: ["table-keys", "table-backups", "table-protection", "store", "store-whole"],
  },
  {
    id: "production-snapshots",
    says: "snapshots cannot be overwritten",
    shownBy: ["test/conformance/conformance.long.test.ts", "test/codec/snapshot.test.ts"],
    restsOn: [
      "stores",
      "bucket-private",
      "bucket-encryption",
      "bucket-put-once",
      "bucket-put-once-enforced",
      "bucket-tls",
      "bucket-lifecycle",
      "store",
      "store-whole",
    ],
  },
  {
    id: "production-order",
    says: "a call is durable before it is sent, and its result before the next step uses it",
    shownBy: ["test/slow/crash/crash.test.ts"],
    restsOn: ["store-writable", "table-keys"],
  },
  {
    id: "production-epochs",
    says: "one writer at a time, fenced by its epoch",
    shownBy: ["test/slow/crash/zombie.test.ts", "test/schedules/claims.test.ts"],
    restsOn: ["machine-definition", "environment", "clock"],
  },
  {
    id: "production-unknown",
    says: "an unknown outcome is reconciled before the next write",
    shownBy: ["test/engine/tools/probe.test.ts", "test/schedules/quiet.test.ts"],
    restsOn: ["agents-unsafe", "alarms"],
  },
  {
    id: "production-cancel",
    says: "cancels and budgets are part of the same commits",
    shownBy: ["test/engine/loop/control.test.ts", "test/core/budget.test.ts"],
    restsOn: ["agents-budget", "agents-done"],
  },
  {
    id: "production-status",
    says: "every run shows its status and since when, and ends eventually",
    shownBy: ["test/process/cli.long.test.ts", "test/schedules/sweeper.test.ts"],
    restsOn: [
      "table-indexes",
      "table-ttl",
      "stream-followed",
      "stream-failures",
      "sweeper-scheduled",
      "sweeper-ran",
      "orphans-searched",
      "work",
      "disk",
    ],
  },
  {
    id: "production-drain",
    says: "a deployment lets running beats commit, and the new code continues the runs",
    shownBy: ["test/slow/process/supervisor-life.test.ts", "test/functions/functions.test.ts"],
    restsOn: ["times", "agents"],
  },
  {
    id: "production-killed",
    says: "runs of these agents were killed and continued in time, and no effect happened twice (fakes replace their tools)",
    shownBy: ["test/slow/storm/storm.test.ts"],
    restsOn: [],
    tried: "npx cairn chaos AGENT",
  },
];

/** Judges each point from the verdicts of the checks that it rests on. */
export const judgePoints = (judged: readonly Judged[]): readonly Judged[] =>
  POINTS.map((point) => judgePoint(point, judged));

const judgePoint = (point: Point, judged: readonly Judged[]): Judged => ({
  id: point.id,
  says: point.says,
  ...verdictOn(point, judged),
});

function verdictOn({ shownBy, restsOn, tried }: Point, judged: readonly Judged[]): CheckVerdict {
  const shown = `shown in the repository of cairn by ${shownBy.join(" and ")}`;
  if (tried !== undefined) return unknown(`${shown} for cairn's own agents; it was not tried with your agents`, tried);
  const found = judged.filter(({ id }) => restsOn.includes(id));
  const status: CheckStatus = worstOf(found.map(({ status }) => status));
  if (status === "ok") return ok(found.length === 0 ? shown : `${shown}; ok: ${found.map(({ id }) => id).join(", ")}`);
  const open = found.filter(({ status }) => status !== "ok").map(({ id }) => id);
  return { status, why: `${shown}, but here these checks are not ok: ${open.join(", ")}`, mend: null };
}

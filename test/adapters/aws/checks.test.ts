/** Every check of a deployment, in each of its statuses. */
import { agentsDescribed, describedAs } from "../../../src/adapters/aws/described-agents.ts";
import { describe, expect, test } from "vitest";
import type { AwsSeen } from "../../../src/adapters/aws/doctor/inspection.ts";
import { awsChecks } from "../../../src/adapters/aws/doctor/checks.ts";
import { type Judged, type CheckStatus, judgeAll } from "../../../src/ports/diagnosis.ts";
import * as at from "../../support/aws/healthy-deployment.ts";
import { BEFORE_RELEASE, OTHER_SCHEMAS } from "../../../src/protocol/foreign.ts";

const { HEALTHY, withChanges, withFunctionChange, inspected } = at;
const CHECKS = awsChecks({ production: true });

const judge = (change: Partial<AwsSeen>, production = false): readonly Judged[] =>
  judgeAll(awsChecks({ production: true }), { seen: at.caseOf({ ...HEALTHY, ...change }), production });

const found = (judged: readonly Judged[], id: string): Judged => {
  const one = judged.find((each) => each.id === id);
  if (one === undefined) throw new Error(`there is no check ${id}`);
  return one;
};

const MISSING = { kind: "missing" } as const;
const DENIED = { kind: "denied", action: "some:Action" } as const;
const AWAY = { kind: "failed", why: "nothing answers", next: "check the network", isHopeless: false } as const;

const mapping = (change: object): Partial<AwsSeen> => {
  const look = HEALTHY.cleanUp;
  const [first] = look.kind === "seen" ? look.seen.mappings : [];
  return withChanges("cleanUp", { mappings: first === undefined ? [] : [{ ...first, ...change }] });
};
const indexed = (name: string, change: object): Partial<AwsSeen> => {
  const { table } = HEALTHY;
  const indexes = table.kind === "seen" ? table.seen.indexes : [];
  return withChanges("table", { indexes: indexes.map((each) => (each.name === name ? { ...each, ...change } : each)) });
};
const definedBy = (from: string, to: string): Partial<AwsSeen> =>
  withChanges("machine", { definition: at.DEFINITION.replace(from, to) });
const told = (env: Readonly<Record<string, string>>): Partial<AwsSeen> => {
  const { beat } = HEALTHY.functions;
  return withFunctionChange("beat", { env: { ...(beat.kind === "seen" ? beat.seen.env : {}), ...env } });
};
const policy = (...statements: readonly object[]): Partial<AwsSeen> => ({
  policy: inspected({ document: at.policyOf(...statements) }),
});
const rule = (prefix: string, isEnabled = true, expiresDays = 7): Partial<AwsSeen> =>
  withChanges("lifecycle", { rules: [{ prefix, isEnabled, expiresDays }] });
const scheduled = (...states: readonly boolean[]): Partial<AwsSeen> =>
  withChanges("sweeper", { schedules: states.map((isEnabled, index) => ({ name: `x${index}`, isEnabled })) });
const alarm = (change: object): Partial<AwsSeen> =>
  withChanges("alarms", { alarms: [{ name: "cairn-x", state: "OK", tellsSomebody: true, ...change }] });

type Sample = readonly [id: string, status: CheckStatus, says: RegExp, change: Partial<AwsSeen>];

const deployedWith = (...agents: readonly string[]): Partial<AwsSeen> =>
  withFunctionChange("beat", { described: agentsDescribed(describedAs(agents)) });

const SAMPLES: readonly Sample[] = [
  ["region", "fail", /no region/, { region: AWAY }],
  ["region", "fail", /us-east-1.*eu-west-1/, withChanges("region", { name: "us-east-1" })],
  ["credentials", "fail", /does not belong to account 111122223333/, withChanges("caller", { account: "999" })],
  ["credentials", "fail", /nothing answers/, { caller: AWAY }],
  ["credentials", "unknown", /some:Action/, { caller: DENIED }],
  ["clock", "ok", /500 ms/, withChanges("clock", { gapMs: -500 })],
  ["clock", "warn", /501 ms ahead of AWS/, withChanges("clock", { gapMs: -501 })],
  ["clock", "fail", /1001 ms behind AWS/, withChanges("clock", { gapMs: 1_001 })],
  ["clock", "unknown", /needs an answer/, { clock: { kind: "untried", needs: "an answer of AWS" } }],
  ["concurrency", "warn", /10 invocations/, withChanges("account", { concurrency: 10, unreserved: 10 })],
  ["concurrency", "unknown", /some:Action/, { account: DENIED }],
  ["table", "fail", /no table runs/, { table: MISSING }],
  ["table", "fail", /nothing answers/, { table: AWAY }],
  ["table", "fail", /CREATING/, withChanges("table", { status: "CREATING" })],
  ["table", "warn", /UPDATING/, withChanges("table", { status: "UPDATING" })],
  ["table", "unknown", /some:Action/, { table: DENIED }],
  ["table-keys", "fail", /partition id/, withChanges("table", { partition: "id" })],
  ["table-keys", "unknown", /needs table/, { table: MISSING }],
  ["table-indexes", "fail", /byStatus is missing/, withChanges("table", { indexes: [] })],
  ["table-indexes", "fail", /alive is CREATING/, indexed("alive", { status: "CREATING" })],
  ["table-indexes", "fail", /byStatus has the keys/, indexed("byStatus", { sort: "x" })],
  ["table-indexes", "fail", /does not project a/, indexed("byStatus", { projection: "KEYS_ONLY", projected: [] })],
  ["table-indexes", "ok", /alive/, indexed("byStatus", { projection: "ALL", projected: [] })],
  ["table-indexes", "unknown", /needs table/, { table: DENIED }],
  ["table-ttl", "fail", /DISABLED/, withChanges("timeToLive", { status: "DISABLED" })],
  ["table-ttl", "fail", /on ttl instead/, withChanges("timeToLive", { attribute: "ttl" })],
  ["table-ttl", "ok", /ENABLING/, withChanges("timeToLive", { status: "ENABLING" })],
  ["table-ttl", "unknown", /some:Action/, { timeToLive: DENIED }],
  ["table-stream", "fail", /no stream/, withChanges("table", { stream: null })],
  [
    "table-stream",
    "fail",
    /KEYS_ONLY/,
    withChanges("table", { stream: { arn: "x", view: "KEYS_ONLY", isEnabled: true } }),
  ],
  [
    "table-stream",
    "ok",
    /OLD/,
    withChanges("table", { stream: { arn: "x", view: "NEW_AND_OLD_IMAGES", isEnabled: true } }),
  ],
  ["table-stream", "unknown", /needs table/, { table: MISSING }],
  ["table-backups", "warn", /is off/, withChanges("backups", { isEnabled: false })],
  ["table-backups", "unknown", /some:Action/, { backups: DENIED }],
  ["table-protection", "warn", /is off/, withChanges("table", { isProtected: false })],
  ["table-protection", "unknown", /needs table/, { table: MISSING }],
  [
    "table-rows",
    "fail",
    /^acme-a: no epoch$/,
    withChanges("liveRows", { damaged: [{ run: "acme-a", why: "no epoch" }] }),
  ],
  ["table-rows", "ok", /the first 500 were decoded/, withChanges("liveRows", { looked: 500, isAll: false })],
  ["table-rows", "unknown", /some:Action/, { liveRows: DENIED }],
  ["table-billing", "warn", /PROVISIONED/, withChanges("table", { billing: "PROVISIONED" })],
  ["table-billing", "unknown", /needs table/, { table: MISSING }],
  ["bucket", "fail", /no bucket store/, { bucket: MISSING }],
  ["bucket", "warn", /us-east-1/, withChanges("bucket", { region: "us-east-1" })],
  ["bucket", "unknown", /some:Action/, { bucket: DENIED }],
  ["stores", "fail", /table belongs to store two/, withChanges("tableStore", { id: "two" })],
  ["stores", "fail", /the table was written by a cairn before/, withChanges("tableStore", { foreign: BEFORE_RELEASE })],
  ["stores", "fail", /the bucket was .* other stored forms/, withChanges("bucketStore", { foreign: OTHER_SCHEMAS })],
  ["stores", "fail", /names no store/, withChanges("tableStore", { id: null })],
  ["stores", "unknown", /some:Action/, { bucketStore: DENIED }],
  ["bucket-private", "warn", /BlockPublicAcls/, withChanges("publicAccess", { open: ["BlockPublicAcls"] })],
  ["bucket-private", "warn", /not blocked/, { publicAccess: MISSING }],
  ["bucket-private", "unknown", /some:Action/, { publicAccess: DENIED }],
  ["bucket-encryption", "warn", /no encryption/, { encryption: MISSING }],
  ["bucket-encryption", "unknown", /some:Action/, { encryption: DENIED }],
  ["bucket-put-once", "warn", /no policy/, { policy: MISSING }],
  ["bucket-put-once", "warn", /on archive\/\*;/, policy(at.denialOf("runs/"))],
  ["bucket-put-once", "unknown", /some:Action/, { policy: DENIED }],
  ["bucket-put-once-enforced", "warn", /not refused/, { putOnce: inspected("let") }],
  ["bucket-put-once-enforced", "unknown", /does not say by which policy/, { putOnce: inspected("refusedSomehow") }],
  ["bucket-tls", "warn", /TLS/, policy(at.denialOf("runs/"))],
  ["bucket-tls", "warn", /cannot be read/, { policy: inspected({ document: "{" }) }],
  ["bucket-tls", "unknown", /some:Action/, { policy: DENIED }],
  ["bucket-lifecycle", "ok", /no such rules/, { lifecycle: MISSING }],
  ["bucket-lifecycle", "ok", /none deletes/, rule("runs/", false)],
  ["bucket-lifecycle", "fail", /everything after 7 days/, rule("")],
  ["bucket-lifecycle", "fail", /runs\/ after 400 days, also of runs that have not ended/, rule("runs/", true, 400)],
  ["bucket-lifecycle", "fail", /runs\/a after 7 days/, rule("runs/a")],
  ["bucket-lifecycle", "unknown", /some:Action/, { lifecycle: DENIED }],
  ["machine", "fail", /no machine arn/, { machine: MISSING }],
  ["machine", "fail", /EXPRESS/, withChanges("machine", { type: "EXPRESS" })],
  ["machine", "fail", /DELETING/, withChanges("machine", { status: "DELETING" })],
  ["machine", "unknown", /some:Action/, { machine: DENIED }],
  ["machine-definition", "warn", /other states: Again\)/, definedBy('"Default":"Pause"', '"Default":"End"')],
  ["machine-definition", "ok", /that of this version/, definedBy('"Seconds":60', '"Seconds":2')],
  ["machine-definition", "ok", /that of this version/, definedBy('Equals":100000', 'Equals":2000')],
  ["machine-definition", "warn", /other states: Again\)/, definedBy('"Result":150', '"Result":30')],
  ["machine-definition", "warn", /its top level differs/, definedBy('"Comment":"One', '"Comment":"Another')],
  ["machine-definition", "fail", /not made by cairn/, withChanges("machine", { definition: "{" })],
  ["machine-definition", "unknown", /needs machine/, { machine: MISSING }],
  ["agents-deployed", "warn", /does not say which agents/, withFunctionChange("beat", { described: null })],
  [
    "agents-deployed",
    "warn",
    /^the deployment has clerk, and cairn.config.ts has clerk, teller$/,
    deployedWith("clerk"),
  ],
  [
    "agents-deployed",
    "warn",
    /^the deployment has baker, .*: another project was deployed there$/,
    deployedWith("baker"),
  ],
  ["agents-deployed", "unknown", /function-beat/, { functions: { ...HEALTHY.functions, beat: MISSING } }],
  ["times", "fail", /takes a running beat for dead/, withFunctionChange("beat", { timeoutSeconds: 90 })],
  ["times", "fail", /sweep has a timeout of 150 s/, withFunctionChange("sweep", { timeoutSeconds: 150 })],
  ["times", "fail", /a timeout of 60 s, but its setting says 61 s/, told({ CAIRN_BEAT_SECONDS: "61" })],
  ["times", "unknown", /needs machine/, { machine: DENIED }],
  ["environment", "fail", /CAIRN_TABLE of beat is other/, told({ CAIRN_TABLE: "other" })],
  ["environment", "fail", /CAIRN_MACHINE of park is not set/, withFunctionChange("park", { env: {} })],
  ["environment", "fail", /limits of beat/, told({ CAIRN_LIMITS: '{"settleMs":-1}' })],
  ["environment", "fail", /limits of beat/, told({ CAIRN_LIMITS: "{" })],
  ["environment", "unknown", /needs function-cleanup/, { functions: { ...HEALTHY.functions, cleanup: DENIED } }],
  ["secrets", "warn", /SOME_API_KEY of park/, withFunctionChange("park", { secrets: ["SOME_API_KEY"] })],
  ["secrets", "unknown", /needs function-park/, { functions: { ...HEALTHY.functions, park: DENIED } }],
  ["stream-followed", "fail", /no function reads/, withChanges("cleanUp", { mappings: [] })],
  ["stream-followed", "fail", /is Disabled/, mapping({ state: "Disabled" })],
  ["stream-followed", "fail", /failures of single records/, mapping({ reportsFailures: false })],
  ["stream-followed", "fail", /no removed row/, mapping({ filters: ['{"eventName":["INSERT"]}'] })],
  ["stream-followed", "fail", /no removed row/, mapping({ filters: ['{"userIdentity":{"type":["Service"]}}'] })],
  ["stream-followed", "fail", /no removed row/, mapping({ filters: ["{"] })],
  ["stream-followed", "warn", /every write/, mapping({ filters: [] })],
  ["stream-followed", "unknown", /some:Action/, { cleanUp: DENIED }],
  ["stream-failures", "warn", /no on-failure/, mapping({ onFailure: null })],
  ["stream-failures", "unknown", /needs stream-followed/, { cleanUp: DENIED }],
  ["sweeper-scheduled", "warn", /no schedule/, withChanges("sweeper", { schedules: [] })],
  ["sweeper-scheduled", "fail", /switched off: x0;/, scheduled(false)],
  ["sweeper-scheduled", "warn", /switched off: x1$/, scheduled(true, false)],
  ["sweeper-scheduled", "unknown", /some:Action/, { sweeper: DENIED }],
  ["sweeper-ran", "warn", /31 minutes ago/, withChanges("sweepTurn", { until: HEALTHY.at - 31 * 60_000 })],
  ["sweeper-ran", "unknown", /never ran/, { sweepTurn: MISSING }],
  ["orphans-searched", "ok", /20 hours ago/, withChanges("orphansSearched", { at: HEALTHY.at - 20 * 3_600_000 })],
  ["orphans-searched", "warn", /4 days ago/, withChanges("orphansSearched", { at: HEALTHY.at - 4 * 86_400_000 })],
  ["orphans-searched", "unknown", /none has ended/, { orphansSearched: MISSING }],
  ["alarms", "warn", /no alarm/, withChanges("alarms", { alarms: [] })],
  ["alarms", "warn", /now in alarm: cairn-x/, alarm({ state: "ALARM" })],
  ["alarms", "warn", /no operator is notified: cairn-x/, alarm({ tellsSomebody: false })],
  ["alarms", "unknown", /some:Action/, { alarms: DENIED }],
  ...(["beat", "park", "sweep", "cleanup"] as const).flatMap((role): readonly Sample[] => [
    [`function-${role}`, "fail", /does not exist/, { functions: { ...HEALTHY.functions, [role]: MISSING } }],
    [`function-${role}`, "fail", /nodejs22.x/, withFunctionChange(role, { runtime: "nodejs22.x" })],
    [`function-${role}`, "fail", /Failed/, withFunctionChange(role, { state: "Failed" })],
    [`function-${role}`, "fail", /never run/, withFunctionChange(role, { reserved: 0 })],
    [`function-${role}`, "warn", /x86_64/, withFunctionChange(role, { architecture: "x86_64" })],
    [`function-${role}`, "unknown", /some:Action/, { functions: { ...HEALTHY.functions, [role]: DENIED } }],
  ]),
];

test("nothing is wrong with a healthy deployment, in production either", () => {
  for (const production of [false, true]) {
    const judged = judge({}, production);
    expect(judged.filter(({ status }) => status !== "ok")).toEqual([]);
    expect(judged.every(({ mend }) => mend === null)).toBe(true);
  }
});

describe("a check", () => {
  test.each(SAMPLES)("%s: %s %s", (id, status, says, change) => {
    const judged = found(judge(change), id);
    expect(judged).toMatchObject({ status, why: expect.stringMatching(says) });
    // What is only in need of another check is mended there.
    if (status !== "ok" && !judged.why.startsWith("needs ")) expect(judged.mend).toMatch(/\w/);
  });

  test("has a sample for what it finds wrong, and for what it cannot see", () => {
    // The samples of functions of agents are in `doctor-functions.test.ts`: they need agents that are isolated.
    for (const { id } of CHECKS.filter((check) => check.id !== "function-agents")) {
      const statuses = new Set(SAMPLES.filter(([of]) => of === id).map(([, status]) => status));
      expect({ id, failsOrWarns: statuses.has("fail") || statuses.has("warn") }).toEqual({ id, failsOrWarns: true });
      if (id !== "region") expect({ id, isUnknown: statuses.has("unknown") }).toEqual({ id, isUnknown: true });
    }
  });

  test("that only warns fails in production, if it is one of those", () => {
    const strict = CHECKS.filter((check) => check.strict === true).map(({ id }) => id);
    expect(strict).toContain("table-backups");
    const warned = SAMPLES.filter(([, status]) => status === "warn");
    expect(new Set(warned.map(([id]) => strict.includes(id)))).toEqual(new Set([true, false]));
    for (const [id, status, , change] of warned) {
      const expected = strict.includes(id) ? "fail" : status;
      expect({ id, status: found(judge(change, true), id).status }).toEqual({ id, status: expected });
    }
  });
});

test("what is missing is told once: what needs it is unknown, and all else is judged", () => {
  const judged = judge({ table: MISSING });
  expect(judged.filter(({ status }) => status === "fail").map(({ id }) => id)).toEqual(["table"]);
  expect(judged.filter(({ status }) => status === "unknown").map(({ id }) => id)).toEqual([
    ...["table-keys", "table-indexes", "table-ttl", "table-stream", "table-backups", "table-protection", "table-rows"],
    ...["table-billing", "stores", "stream-followed", "stream-failures", "sweeper-ran"],
    "orphans-searched",
  ]);
});

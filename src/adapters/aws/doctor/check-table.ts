/** Checks of the table against the layout that the adapter uses (`schema.ts`). */
import type { IndexSeen } from "./table-inspection.ts";
import { TABLE } from "../table/schema.ts";
import type { AwsCase } from "./check-account.ts";
import { type DiagnosisCheck, type CheckVerdict, fail, judgeDamaged, ok, warn } from "../../../ports/diagnosis.ts";
import { judgeLook, judgeSeen } from "./judge-probe.ts";

const gone = ({ aws }: AwsCase): CheckVerdict =>
  fail(`there is no table ${aws.names.table} in this account and region`, "deploy, or check CAIRN_TABLE");

const AGAIN =
  "deploy again: the deployment sets the layout of its table; change a table of your own by hand (docs/deploy.md)";

const about = ({ aws }: AwsCase, words: string): string => `aws dynamodb ${words.replace("TABLE", aws.names.table)}`;

export const TABLE_CHECKS: readonly DiagnosisCheck<AwsCase>[] = [
  {
    id: "table",
    says: "the table is there",
    judge: (deployed) =>
      judgeLook(deployed.aws.table, {
        missing: gone(deployed),
        unreachable: true,
        seen: ({ status }) => {
          const { table } = deployed.aws.names;
          if (status === "ACTIVE") return ok(`${table} is ACTIVE`);
          const mend = about(deployed, "wait table-exists --table-name TABLE");
          return (status === "UPDATING" ? warn : fail)(`${table} is ${status}`, mend);
        },
      }),
  },
  {
    id: "table-keys",
    says: "its keys are those of this version of cairn",
    needs: ["table"],
    judge: ({ aws }) =>
      judgeSeen(aws.table, ({ partition, sort, types }) => {
        const { keys } = TABLE;
        const isSame = partition === keys.partition && sort === keys.sort && types[partition] === types[sort];
        const why = `partition ${partition}, sort ${sort}`;
        const mend = "name the right table in CAIRN_TABLE: the keys of a table cannot be changed";
        return isSame && types[sort] === "S"
          ? ok(why)
          : fail(`${why}; cairn's are texts: ${keys.partition}, ${keys.sort}`, mend);
      }),
  },
  {
    id: "table-indexes",
    says: "its indexes are those of this version of cairn",
    needs: ["table"],
    judge: ({ aws }) =>
      judgeSeen(aws.table, ({ indexes, types }) => {
        const wrong = TABLE.indexes.flatMap((wanted) =>
          faultOf(wanted, { found: indexes.find(({ name }) => name === wanted.name), types }),
        );
        return wrong.length === 0
          ? ok(TABLE.indexes.map(({ name }) => name).join(", "))
          : fail(wrong.join("; "), AGAIN);
      }),
  },
  {
    id: "table-ttl",
    says: "ended runs are removed when their retention expires",
    needs: ["table"],
    judge: (deployed) =>
      judgeSeen(deployed.aws.timeToLive, ({ status, attribute }) => {
        const on = `Enabled=true,AttributeName=${TABLE.timeToLive}`;
        const mend = about(deployed, `update-time-to-live --table-name TABLE --time-to-live-specification ${on}`);
        const isOn = status === "ENABLED" || status === "ENABLING";
        if (!isOn) return fail(`time to live is ${status}: ended runs stay for ever`, mend);
        return attribute === TABLE.timeToLive
          ? ok(`time to live is ${status} on ${attribute}`)
          : fail(
              `time to live is on ${attribute} instead of ${TABLE.timeToLive}`,
              `switch it off there, then: ${mend}`,
            );
      }),
  },
  {
    id: "table-stream",
    says: "its stream shows which rows were removed",
    needs: ["table"],
    judge: (deployed) =>
      judgeSeen(deployed.aws.table, ({ stream }) => {
        const on = `StreamEnabled=true,StreamViewType=${TABLE.stream.view}`;
        const mend = about(deployed, `update-table --table-name TABLE --stream-specification ${on}; then deploy again`);
        if (stream === null || !stream.isEnabled)
          return fail("it has no stream: the objects of removed runs stay", mend);
        return [TABLE.stream.view, "NEW_AND_OLD_IMAGES"].includes(stream.view)
          ? ok(stream.view)
          : fail(`it shows ${stream.view} and not ${TABLE.stream.view}`, `switch it off, then: ${mend}`);
      }),
  },
  {
    id: "table-backups",
    says: "the table can be restored to any second of the last weeks",
    needs: ["table"],
    strict: true,
    judge: (deployed) =>
      judgeSeen(deployed.aws.backups, ({ isEnabled }) => {
        const on = "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true";
        const mend = about(deployed, `update-continuous-backups --table-name TABLE ${on}`);
        return isEnabled ? ok("point-in-time recovery is on") : warn("point-in-time recovery is off", mend);
      }),
  },
  {
    id: "table-protection",
    says: "the table cannot be deleted by mistake",
    needs: ["table"],
    strict: true,
    judge: (deployed) =>
      judgeSeen(deployed.aws.table, ({ isProtected }) => {
        const mend = about(deployed, "update-table --table-name TABLE --deletion-protection-enabled");
        return isProtected ? ok("deletion protection is on") : warn("deletion protection is off", mend);
      }),
  },
  {
    id: "table-rows",
    says: "the rows of live runs can be decoded",
    needs: ["table"],
    judge: ({ aws }) =>
      judgeSeen(aws.liveRows, ({ looked, damaged, isAll }) => {
        const seen = isAll
          ? "every row was decoded"
          : `the first ${looked} were decoded; the sweeper checks all of them`;
        return judgeDamaged(damaged, { seen, verify: (run) => `npx cairn verify ${run} --world aws` });
      }),
  },
  {
    id: "table-billing",
    says: "the table is billed per request",
    needs: ["table"],
    judge: (deployed) =>
      judgeSeen(deployed.aws.table, ({ billing }) => {
        const mend = about(deployed, "update-table --table-name TABLE --billing-mode PAY_PER_REQUEST");
        return billing === "PAY_PER_REQUEST"
          ? ok(billing)
          : warn(`${billing}: runs come in bursts, and would be throttled`, mend);
      }),
  },
];

type Wanted = (typeof TABLE.indexes)[number];

function faultOf(
  wanted: Wanted,
  { found, types }: { readonly found: IndexSeen | undefined; readonly types: Readonly<Record<string, string>> },
): readonly string[] {
  const { name, partition, sort } = wanted;
  if (found === undefined) return [`${name} is missing`];
  if (found.status !== "ACTIVE") return [`${name} is ${found.status}`];
  const isKeyed = found.partition === partition.name && found.sort === sort.name;
  if (!isKeyed || types[partition.name] !== partition.type || types[sort.name] !== sort.type) {
    return [`${name} has the keys ${found.partition} and ${found.sort} instead of ${partition.name} and ${sort.name}`];
  }
  const lacks = wanted.projected.filter((each) => found.projection !== "ALL" && !found.projected.includes(each));
  return lacks.length === 0 ? [] : [`${name} does not project ${lacks.join(", ")}`];
}

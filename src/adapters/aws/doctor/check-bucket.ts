/** Checks of the bucket: who has access, and that written objects cannot be overwritten. */
import type { AwsCase } from "./check-account.ts";
import { type DiagnosisCheck, type CheckVerdict, fail, ok, unknown, warn } from "../../../ports/diagnosis.ts";
import type { LifecycleSeen } from "./bucket-inspection.ts";
import { judgeLook, judgeSeen } from "./judge-probe.ts";
import { type Guarantees, guaranteesOf } from "../bucket/bucket-policy.ts";

/** The prefixes of objects that cairn writes only once. */
const PREFIXES = ["runs/", "archive/"] as const;

const AGAIN =
  "deploy again: the deployment writes the policy of its bucket; a bucket of your own needs the same (docs/deploy.md)";

const AFRESH = "deploy this version with a table and a bucket of its own (docs/upgrades.md)";

export const BUCKET_CHECKS: readonly DiagnosisCheck<AwsCase>[] = [
  {
    id: "bucket",
    says: "the bucket is there",
    judge: ({ aws }) =>
      judgeLook(aws.bucket, {
        missing: fail(`there is no bucket ${aws.names.bucket}`, "deploy, or check CAIRN_BUCKET"),
        unreachable: true,
        seen: ({ region }) => {
          const isElsewhere = region !== null && aws.region.kind === "seen" && region !== aws.region.seen.name;
          const why = `${aws.names.bucket} is in ${region ?? "an unknown region"}`;
          return isElsewhere
            ? warn(`${why}: each beat pays for the transfer between regions`, "deploy again, all in one region")
            : ok(why);
        },
      }),
  },
  {
    id: "stores",
    says: "table and bucket belong together",
    needs: ["table", "bucket"],
    judge: ({ aws }) =>
      judgeSeen(aws.tableStore, ({ id, foreign }) =>
        judgeSeen(aws.bucketStore, ({ id: other, foreign: foreignToo }) => {
          if (foreign !== null) return fail(`the table ${foreign.says}`, AFRESH);
          if (foreignToo !== null) return fail(`the bucket ${foreignToo.says}`, AFRESH);
          const mend =
            "name the table and the bucket of one deployment in CAIRN_TABLE and CAIRN_BUCKET, or deploy again";
          if (id === null) return fail("the table names no store", mend);
          return id === other
            ? ok(`both are store ${id}`)
            : fail(`the table belongs to store ${id}, the bucket to store ${other}`, mend);
        }),
      ),
  },
  {
    id: "bucket-private",
    says: "nothing of the bucket can be public",
    needs: ["bucket"],
    strict: true,
    judge: ({ aws }) => {
      const closed = "BlockPublicAcls=true,IgnorePublicAcls=true,BlockPublicPolicy=true,RestrictPublicBuckets=true";
      const mend = `aws s3api put-public-access-block --bucket ${aws.names.bucket} --public-access-block-configuration ${closed}`;
      return judgeLook(aws.publicAccess, {
        missing: warn("public access is not blocked", mend),
        seen: ({ open }) =>
          open.length === 0 ? ok("public access is blocked") : warn(`not set: ${open.join(", ")}`, mend),
      });
    },
  },
  {
    id: "bucket-encryption",
    says: "objects are encrypted at rest",
    needs: ["bucket"],
    strict: true,
    judge: ({ aws }) =>
      judgeLook(aws.encryption, {
        missing: warn(
          "no encryption is set",
          "deploy again: the deployment configures its bucket; configure a bucket of your own by hand",
        ),
        seen: ({ algorithm }) => ok(algorithm),
      }),
  },
  {
    id: "bucket-put-once",
    says: "its policy lets no object of a run be overwritten",
    needs: ["bucket"],
    strict: true,
    judge: (deployed) =>
      judgePolicy(deployed, ({ putOnce }) => {
        const open = PREFIXES.filter((prefix) => !putOnce.includes(prefix));
        if (open.length === 0) return ok(`s3:PutObject without If-None-Match is denied on ${PREFIXES.join("* and ")}*`);
        const why = `it does not deny s3:PutObject without If-None-Match to everybody on ${open.map((each) => `${each}*`).join(" and ")}`;
        return warn(`${why}; cairn itself overwrites nothing`, AGAIN);
      }),
  },
  {
    id: "bucket-tls",
    says: "it accepts only TLS",
    needs: ["bucket"],
    strict: true,
    judge: (deployed) =>
      judgePolicy(deployed, ({ tlsOnly }) =>
        tlsOnly ? ok("requests without TLS are denied") : warn("it does not deny requests without TLS", AGAIN),
      ),
  },
  {
    id: "bucket-lifecycle",
    says: "no rule of the bucket deletes what a run needs",
    needs: ["bucket"],
    judge: ({ aws }) =>
      judgeLook(aws.lifecycle, {
        missing: ok("it has no such rules"),
        seen: ({ rules }) => {
          const deleting = rules.filter(({ isEnabled, prefix }) => isEnabled && reaches(prefix));
          const words = ({ prefix, expiresDays }: LifecycleSeen): string =>
            `${prefix || "everything"} after ${expiresDays} days`;
          const expiring = deleting.filter(({ expiresDays }) => expiresDays !== null);
          const mend = "cairn deletes the objects below runs/ with their runs, so deploy again to remove this rule";
          return expiring.length > 0
            ? fail(`it deletes ${expiring.map(words).join(", ")}, also of runs that have not ended`, mend)
            : ok("none deletes below runs/");
        },
      }),
  },
];

/** Whether a rule for that prefix applies to objects of runs. */
const reaches = (prefix: string): boolean => prefix.startsWith("runs/") || "runs/".startsWith(prefix);

const judgePolicy = ({ aws }: AwsCase, judge: (guarantees: Guarantees) => CheckVerdict): CheckVerdict =>
  judgeLook(aws.policy, {
    missing: warn("the bucket has no policy", AGAIN),
    seen: ({ document }) => {
      const guarantees = guaranteesOf(document, { bucket: aws.names.bucket, prefixes: PREFIXES });
      return guarantees === null ? warn("its policy cannot be read", AGAIN) : judge(guarantees);
    },
  });

/** Runs only with --production, because it sends a write, although one that no bucket accepts. */
export const PUT_ONCE_CHECK: DiagnosisCheck<AwsCase> = {
  id: "bucket-put-once-enforced",
  says: "the bucket refuses a put that could overwrite",
  needs: ["bucket"],
  judge: ({ aws }) =>
    judgeSeen(aws.putOnce, (putOnce) => {
      switch (putOnce) {
        case "refused":
          return ok("a put without If-None-Match was refused by the bucket's policy");
        case "refusedSomehow":
          return unknown(
            "a put without If-None-Match was refused, but S3 does not say by which policy",
            "run doctor with an identity that has s3:PutObject below runs/",
          );
        case "let":
          return warn(
            "a put without If-None-Match was not refused by any policy (its own condition stopped it)",
            AGAIN,
          );
      }
    }),
};

/**
 * What a bucket's policy guarantees, read as strictly as AWS does: a denial counts only if it is for everybody, covers
 * all that it is for, and has no condition besides those that it needs.
 */
import * as z from "zod";

export interface Guarantees {
  /** Prefixes below which an object can be put only once. */
  readonly putOnce: readonly string[];
  readonly tlsOnly: boolean;
}

const texts = z.union([z.string(), z.array(z.string())]).transform((each) => (Array.isArray(each) ? each : [each]));

const statement = z.object({
  Effect: z.string(),
  Principal: z.unknown().optional(),
  Action: texts.optional(),
  Resource: texts.optional(),
  Condition: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});

const policy = z.object({ Statement: z.union([z.array(statement), statement.transform((one) => [one])]) });

type Statement = z.output<typeof statement>;

/** Null: it is no policy that can be read. */
export function guaranteesOf(
  document: string,
  { bucket, prefixes }: { readonly bucket: string; readonly prefixes: readonly string[] },
): Guarantees | null {
  const parsed = policy.safeParse(jsonIn(document));
  if (!parsed.success) return null;
  const denials = parsed.data.Statement.filter(({ Effect, Principal }) => Effect === "Deny" && isEverybody(Principal));
  const once = denials.filter((each) => covers(each.Action, "s3:PutObject") && hasOnly(each, PUT_ONCE));
  const plain = denials.filter((each) => covers(each.Action, "s3:*") && hasOnly(each, PLAIN));
  const isIn = (among: readonly Statement[], resource: string): boolean =>
    among.some(({ Resource }) =>
      covers(
        Resource?.map((each) => each.replace(/^arn:aws[\w-]*:/, "arn:aws:")),
        resource,
      ),
    );
  return {
    putOnce: prefixes.filter((prefix) => isIn(once, `arn:aws:s3:::${bucket}/${prefix}*`)),
    tlsOnly: isIn(plain, `arn:aws:s3:::${bucket}`) && isIn(plain, `arn:aws:s3:::${bucket}/*`),
  };
}

/** `needed` has to be there, `allowed` may be. */
interface Wanted {
  readonly needed: string;
  readonly allowed: readonly string[];
}

/** Parts of a multipart upload carry no `If-None-Match`, and make no object: without the second it would refuse them too. */
const PUT_ONCE: Wanted = {
  needed: "null s3:if-none-match true",
  allowed: ["bool s3:objectcreationoperation true"],
};
const PLAIN: Wanted = { needed: "bool aws:securetransport false", allowed: [] };

function hasOnly({ Condition = {} }: Statement, { needed, allowed }: Wanted): boolean {
  const all = Object.entries(Condition).flatMap(([operator, keys]) =>
    Object.entries(keys).map(([key, values]) => `${operator} ${key} ${String(values)}`.toLowerCase()),
  );
  return all.includes(needed) && all.every((each) => each === needed || allowed.includes(each));
}

function isEverybody(principal: unknown): boolean {
  if (principal === "*") return true;
  const parsed = z.object({ AWS: texts }).safeParse(principal);
  return parsed.success && parsed.data.AWS.includes("*");
}

/** What a pattern with a star at its end covers; `?` and stars within are taken for letters, so they cover less. */
const covers = (patterns: readonly string[] | undefined, what: string): boolean =>
  (patterns ?? []).some((pattern) => {
    const [one, other] = [pattern.toLowerCase(), what.toLowerCase()];
    return one === other || (one.endsWith("*") && other.startsWith(one.slice(0, -1)));
  });

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

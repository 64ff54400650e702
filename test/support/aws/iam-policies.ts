/** IAM policies, parsed just enough to detect ones that are too wide. */

export interface PolicyStatement {
  readonly Effect: "Allow" | "Deny";
  readonly Action?: string | readonly string[];
  readonly Resource?: string | readonly string[];
  readonly NotAction?: unknown;
  readonly NotResource?: unknown;
  readonly Principal?: "*" | Readonly<Record<string, string | readonly string[]>>;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

export interface Policy {
  readonly Statement: readonly PolicyStatement[];
}

export const policyOf = (given: unknown): Policy => (typeof given === "string" ? JSON.parse(given) : given) as Policy;

export const listOf = (given: string | readonly string[] | undefined): readonly string[] =>
  given === undefined ? [] : typeof given === "string" ? [given] : given;

/** The parts that allow more than single actions on named resources. */
export function tooWideStatements({ Statement }: Policy): readonly string[] {
  return Statement.filter(({ Effect }) => Effect === "Allow").flatMap((statement) => {
    const { Action, Resource, NotAction, NotResource } = statement;
    const inverted = [NotAction, NotResource].filter((each) => each !== undefined).map((each) => JSON.stringify(each));
    const actions = listOf(Action);
    const resources = listOf(Resource);
    const nothing = actions.length === 0 || resources.length === 0 ? [JSON.stringify(statement)] : [];
    return [
      ...inverted,
      ...nothing,
      ...actions.filter((action) => !/^[a-z0-9-]+:[A-Za-z]+$/.test(action)),
      ...resources.filter((resource) => !isNamed(resource)),
    ];
  });
}

/** A wildcard is allowed below a named folder, log group or state machine, if service and owner are named. */
function isNamed(resource: string): boolean {
  if (resource.startsWith("@{")) return true;
  const [arn, , service = "", region = "", account = "", ...rest] = resource.split(":");
  const whole = rest.join(":");
  const own = whole.replace(/[:/]\*$/, "");
  const isOpen = own !== whole;
  const isPlaced = service === "s3" ? region === "" && account === "" : region !== "" && account !== "";
  return (
    arn === "arn" &&
    isPlaced &&
    own !== "" &&
    (!isOpen || /[:/]/.test(own)) &&
    !/[*?]/.test(`${service}${region}${account}${own}`)
  );
}

/** The one service that may assume a role; null for other principals or several. */
export function trustedService({ Statement }: Policy): string | null {
  const [only] = Statement;
  if (only === undefined || Statement.length > 1 || only.Effect !== "Allow") return null;
  if (listOf(only.Action).join(" ") !== "sts:AssumeRole" || only.Principal === undefined || only.Principal === "*")
    return null;
  const services = listOf(only.Principal["Service"]);
  return Object.keys(only.Principal).length === 1 && services.length === 1 ? (services[0] ?? null) : null;
}

/**
 * Secrets on AWS: parameters of the Parameter Store, one for each name, below the path of the deployment. They are
 * encrypted with AWS's own key for parameters, which decrypts for every identity that may read the parameter.
 *
 * A function knows the names that its agents declared when it was deployed, and may read only those. An operator at the
 * command line reads below the path with their own identity. A value that this identity may not read cannot be removed
 * from what the command writes; the next beat removes it.
 */
import type { SSMClient } from "@aws-sdk/client-ssm";
import type { AbsentSecret, SecretLook, Secrets } from "../../ports/secrets.ts";
import { type ClientOptions, configOf } from "./clients.ts";
import { isNamed, reachingService } from "./errors.ts";
import { parameterOf, parameterPath } from "./table/keys.ts";

export interface ParametersOf {
  /** The name of the deployment. */
  readonly deployment: string;
  /** The names that its agents declare; null: every name below its path that this identity may list. */
  readonly names: readonly string[] | null;
  readonly client?: ClientOptions;
}

const PARAMETER_MS = 3_000;

/** The secrets of a deployment. Operations reject only with `StoreUnreachable`. */
export function parameterSecrets({ deployment, names, client: options = {} }: ParametersOf): Secrets {
  let client: Promise<SSMClient> | null = null;
  // Loaded on first use, since most functions never read a secret.
  const clientOf = (): Promise<SSMClient> => (client ??= clientWith(options));
  const path = parameterPath(deployment);
  const single = async (parameter: string): Promise<SecretLook> => {
    const { GetParameterCommand } = await import("@aws-sdk/client-ssm");
    try {
      const command = new GetParameterCommand({ Name: parameter, WithDecryption: true });
      return lookOf(parameter, (await (await clientOf()).send(command)).Parameter?.Value);
    } catch (error) {
      if (isNamed(error, "ParameterNotFound")) return absent(parameter);
      if (names === null && isDenied(error)) return unread(parameter);
      throw error;
    }
  };
  /** The values of several parameters; null if they cannot be read as a whole, which is authorised as a whole. */
  const several = async (parameters: readonly string[]): Promise<ReadonlyMap<string, string | undefined> | null> => {
    const { GetParametersCommand } = await import("@aws-sdk/client-ssm");
    try {
      const command = new GetParametersCommand({ Names: [...parameters], WithDecryption: true });
      const { Parameters = [] } = await (await clientOf()).send(command);
      return new Map(Parameters.map(({ Name = "", Value }) => [Name, Value]));
    } catch (error) {
      // One parameter may be the cause, such as one whose key is disabled. It must not hide the others.
      if (isDenied(error) || isNamed(error, "InvalidKeyId", "ValidationException")) return null;
      throw error;
    }
  };
  const looks = together(async (parameters) => {
    const values = parameters.length === 1 ? null : await several(parameters);
    return (parameter) => (values === null ? single(parameter) : lookOf(parameter, values.get(parameter)));
  });
  return {
    get: (name) => {
      const parameter = parameterOf(deployment, name);
      return reachingService(`the parameter ${parameter}`, () => looks(parameter));
    },
    // The deployment has declared them.
    declare: async () => undefined,
    declared: async () =>
      names ?? reachingService(`the parameters below ${path}`, async () => namesBelow(await clientOf(), path)),
  };
}

/** How many parameters one request takes. */
const TOGETHER_MAX = 10;

/**
 * Reads by few requests what is asked for at the same time: a process with 40 secrets sends 4 requests, not 40, and the
 * account has 40 a second (docs/scale.md). `read` gets up to ten parameters, and answers for each of them.
 */
function together(
  read: (parameters: readonly string[]) => Promise<(parameter: string) => SecretLook | Promise<SecretLook>>,
): (parameter: string) => Promise<SecretLook> {
  let gathering: {
    readonly parameters: Set<string>;
    readonly answers: Promise<Awaited<ReturnType<typeof read>>>;
  } | null = null;
  return async (parameter) => {
    if (gathering === null || gathering.parameters.size === TOGETHER_MAX) {
      // Two tools that run side by side may ask for the same one.
      const parameters = new Set<string>();
      const answers = Promise.resolve().then(() => {
        if (gathering?.parameters === parameters) gathering = null;
        return read([...parameters]);
      });
      gathering = { parameters, answers };
    }
    gathering.parameters.add(parameter);
    return (await gathering.answers)(parameter);
  };
}

const lookOf = (parameter: string, value: string | undefined): SecretLook =>
  value ? { kind: "found", value } : absent(parameter);

async function clientWith(options: ClientOptions): Promise<SSMClient> {
  const { SSMClient } = await import("@aws-sdk/client-ssm");
  return new SSMClient(configOf(options, PARAMETER_MS));
}

async function namesBelow(client: SSMClient, path: string): Promise<readonly string[] | AbsentSecret> {
  const { paginateGetParametersByPath } = await import("@aws-sdk/client-ssm");
  const found: string[] = [];
  try {
    for await (const { Parameters = [] } of paginateGetParametersByPath({ client }, { Path: path })) {
      found.push(...Parameters.flatMap(({ Name = "" }) => Name.split("/").at(-1) ?? []));
    }
    return found;
  } catch (error) {
    if (isDenied(error)) return unread(path);
    throw error;
  }
}

const isDenied = (error: unknown): boolean => isNamed(error, "AccessDeniedException");

const unread = (parameter: string): AbsentSecret => ({
  kind: "unread",
  where: `the Parameter Store, as ${parameter}`,
  mend: "start the run over the HTTP API, or ask for ssm:GetParameter and ssm:GetParametersByPath on it",
});

const absent = (parameter: string): SecretLook => ({
  kind: "absent",
  where: `the Parameter Store, as ${parameter}`,
  mend: `aws ssm put-parameter --type SecureString --name ${parameter} --value ...`,
});

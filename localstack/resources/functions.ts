/**
 * The functions, and what calls them. An existing function gets new code and new settings only if they differ;
 * otherwise it is not touched, and its processes stay warm.
 */
import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { GetObjectCommand } from "@aws-sdk/client-s3";
import {
  AddPermissionCommand,
  type Architecture,
  CreateAliasCommand,
  CreateEventSourceMappingCommand,
  CreateFunctionCommand,
  type EventSourcePosition,
  type FunctionConfiguration,
  type FunctionResponseType,
  GetAliasCommand,
  GetFunctionConfigurationCommand,
  ListEventSourceMappingsCommand,
  PutFunctionEventInvokeConfigCommand,
  type LogFormat,
  PublishVersionCommand,
  PutFunctionConcurrencyCommand,
  RemovePermissionCommand,
  type Runtime,
  UpdateAliasCommand,
  UpdateFunctionCodeCommand,
  UpdateFunctionConfigurationCommand,
  waitUntilFunctionActiveV2,
  waitUntilFunctionUpdatedV2,
} from "@aws-sdk/client-lambda";
import * as z from "zod";
import type { Clients } from "../clients.ts";
import { found, kind } from "../kind.ts";

const inputs = z.strictObject({
  name: z.string(),
  description: z.string(),
  role: z.string(),
  handler: z.string(),
  runtime: z.custom<Runtime>((given) => typeof given === "string"),
  architectures: z.array(z.custom<Architecture>((given) => typeof given === "string")),
  packageType: z.literal("Zip"),
  publish: z.boolean(),
  s3Bucket: z.string(),
  s3Key: z.string(),
  timeout: z.int(),
  memorySize: z.int(),
  ephemeralStorage: z.strictObject({ size: z.int() }),
  environment: z.strictObject({ variables: z.record(z.string(), z.string()) }),
  loggingConfig: z.strictObject({
    logFormat: z.custom<LogFormat>((given) => typeof given === "string"),
    logGroup: z.string(),
  }),
  reservedConcurrentExecutions: z.int().optional(),
});

type Inputs = z.output<typeof inputs>;

export const fn = kind(inputs, async (of, { clients, later }) => {
  const { functions } = clients;
  const [FunctionName, code] = [of.name, { S3Bucket: of.s3Bucket, S3Key: of.s3Key }];
  const settings = settingsOf(of);
  const asked = functions.send(new GetFunctionConfigurationCommand({ FunctionName }));
  const known = await found(asked, "ResourceNotFoundException");
  if (known === null) {
    const { packageType: PackageType, architectures: Architectures } = of;
    const made = { ...settings, PackageType, Architectures, Code: code };
    await functions.send(new CreateFunctionCommand({ FunctionName, ...made }));
  }
  const change = async (): Promise<void> => {
    if (known === null) await waitUntilFunctionActiveV2({ client: functions, ...WAIT }, { FunctionName });
    else await update(clients, { of, known, code, settings });
  };
  if (!of.publish) later(change);
  const { reservedConcurrentExecutions: most } = of;
  if (most !== undefined) {
    const ReservedConcurrentExecutions = most;
    await functions.send(new PutFunctionConcurrencyCommand({ FunctionName, ReservedConcurrentExecutions }));
  }
  const told = { name: FunctionName, id: FunctionName };
  if (!of.publish) return told;
  await change();
  // If nothing has changed since, this returns the existing version.
  const { Version = "" } = await whenFree(() => functions.send(new PublishVersionCommand({ FunctionName })));
  return { ...told, version: Version };
});

export const alias = kind(
  z.strictObject({ name: z.string(), description: z.string(), functionName: z.string(), functionVersion: z.string() }),
  async (of, { clients: { functions } }) => {
    const at = { FunctionName: of.functionName, Name: of.name };
    const to = { ...at, Description: of.description, FunctionVersion: of.functionVersion };
    const known = await found(functions.send(new GetAliasCommand(at)), "ResourceNotFoundException");
    if (known === null) await functions.send(new CreateAliasCommand(to));
    else await functions.send(new UpdateAliasCommand(to));
    return {};
  },
);

/** In seconds. A loaded machine takes more than a minute until the last of many functions is active. */
const WAIT = { maxWaitTime: 600, minDelay: 0.2, maxDelay: 1 };

type Settings = ReturnType<typeof settingsOf>;

const settingsOf = (of: Inputs) => ({
  Description: of.description,
  Role: of.role,
  Handler: of.handler,
  Runtime: of.runtime,
  Timeout: of.timeout,
  MemorySize: of.memorySize,
  EphemeralStorage: { Size: of.ephemeralStorage.size },
  Environment: { Variables: of.environment.variables },
  LoggingConfig: { LogFormat: of.loggingConfig.logFormat, LogGroup: of.loggingConfig.logGroup },
});

/** Updates code, then settings: a function takes no second change during a first one. */
async function update(
  { functions, objects }: Clients,
  to: {
    readonly of: Inputs;
    readonly known: FunctionConfiguration;
    readonly code: { readonly S3Bucket: string; readonly S3Key: string };
    readonly settings: Settings;
  },
): Promise<void> {
  const { known, code, settings } = to;
  const FunctionName = to.of.name;
  const { Body } = await objects.send(new GetObjectCommand({ Bucket: code.S3Bucket, Key: code.S3Key }));
  const bytes = (await Body?.transformToByteArray()) ?? new Uint8Array();
  if (known.CodeSha256 !== createHash("sha256").update(bytes).digest("base64")) {
    await whenFree(() => functions.send(new UpdateFunctionCodeCommand({ FunctionName, ...code })));
    await waitUntilFunctionUpdatedV2({ client: functions, ...WAIT }, { FunctionName });
  }
  if (isLike(known, settings)) return;
  await whenFree(() => functions.send(new UpdateFunctionConfigurationCommand({ FunctionName, ...settings })));
  await waitUntilFunctionUpdatedV2({ client: functions, ...WAIT }, { FunctionName });
}

const CONFLICTS_MAX = 20;

/**
 * Sends a change of a function. A function may say that its last change is over a moment before it takes the next one, so
 * a conflict is no failure until it has come that often.
 */
export async function whenFree<T>(
  send: () => Promise<T>,
  pause = (): Promise<void> => setTimeout(WAIT.minDelay * 1_000),
): Promise<T> {
  for (let conflicts = 0; ; conflicts += 1) {
    try {
      return await send();
    } catch (error) {
      if ((error as Error).name !== "ResourceConflictException" || conflicts === CONFLICTS_MAX) throw error;
      await pause();
    }
  }
}

/** True if the function has all these settings; it may have more. */
const isLike = (known: FunctionConfiguration, settings: Settings): boolean =>
  Object.entries(settings).every(([name, value]) => {
    const there: unknown = known[name as keyof Settings];
    return name === "LoggingConfig" && typeof there === "object"
      ? isDeepStrictEqual({ ...there, ...(value as object) }, there)
      : isDeepStrictEqual(there, value);
  });

export const eventSource = kind(
  z.strictObject({
    eventSourceArn: z.string(),
    functionName: z.string(),
    startingPosition: z.custom<EventSourcePosition>((given) => given === "TRIM_HORIZON"),
    filterCriteria: z.strictObject({ filters: z.array(z.strictObject({ pattern: z.string() })) }),
    functionResponseTypes: z.array(z.custom<FunctionResponseType>((given) => typeof given === "string")),
    batchSize: z.int(),
    // Not applied, since tests wait for what the function does.
    maximumBatchingWindowInSeconds: z.int(),
    maximumRetryAttempts: z.int(),
    bisectBatchOnFunctionError: z.boolean(),
    destinationConfig: z.strictObject({ onFailure: z.strictObject({ destinationArn: z.string() }) }),
  }),
  async (of, { clients: { functions } }) => {
    const which = { EventSourceArn: of.eventSourceArn, FunctionName: of.functionName };
    const { EventSourceMappings = [] } = await functions.send(new ListEventSourceMappingsCommand(which));
    if (EventSourceMappings.length > 0) return {};
    await functions.send(
      new CreateEventSourceMappingCommand({
        ...which,
        StartingPosition: of.startingPosition,
        FilterCriteria: { Filters: of.filterCriteria.filters.map(({ pattern }) => ({ Pattern: pattern })) },
        FunctionResponseTypes: of.functionResponseTypes,
        BatchSize: of.batchSize,
        MaximumRetryAttempts: of.maximumRetryAttempts,
        BisectBatchOnFunctionError: of.bisectBatchOnFunctionError,
        DestinationConfig: { OnFailure: { Destination: of.destinationConfig.onFailure.destinationArn } },
      }),
    );
    return {};
  },
);

export const givenUp = kind(
  z.strictObject({
    functionName: z.string(),
    maximumRetryAttempts: z.int(),
    destinationConfig: z.strictObject({ onFailure: z.strictObject({ destination: z.string() }) }),
  }),
  async ({ functionName, maximumRetryAttempts, destinationConfig }, { clients: { functions } }) => {
    await functions.send(
      new PutFunctionEventInvokeConfigCommand({
        FunctionName: functionName,
        MaximumRetryAttempts: maximumRetryAttempts,
        DestinationConfig: { OnFailure: { Destination: destinationConfig.onFailure.destination } },
      }),
    );
    return {};
  },
);

export const permission = kind(
  z.strictObject({ action: z.string(), function: z.string(), principal: z.string(), sourceArn: z.string() }),
  async (of, { clients: { functions }, name: StatementId }) => {
    const at = { FunctionName: of.function, StatementId };
    await found(functions.send(new RemovePermissionCommand(at)), "ResourceNotFoundException");
    const whom = { Principal: of.principal, SourceArn: of.sourceArn };
    await functions.send(new AddPermissionCommand({ ...at, Action: of.action, ...whom }));
    return {};
  },
);

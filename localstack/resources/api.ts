/**
 * The REST API. Existing parts are found by name, path and method. A deployment is found by a digest of its content, so
 * a new one is made only if something changed.
 */
import { createHash } from "node:crypto";
import {
  CreateDeploymentCommand,
  CreateResourceCommand,
  CreateRestApiCommand,
  CreateStageCommand,
  type EndpointType,
  GetDeploymentsCommand,
  GetResourcesCommand,
  GetRestApisCommand,
  GetStageCommand,
  type IntegrationType,
  PutIntegrationCommand,
  PutIntegrationResponseCommand,
  PutMethodCommand,
  PutMethodResponseCommand,
  UpdateAccountCommand,
  UpdateStageCommand,
} from "@aws-sdk/client-api-gateway";
import * as z from "zod";
import { found, kind } from "../kind.ts";

/** The largest page, which is more than one machine ever has. */
const PAGE = { limit: 500 };

export const account = kind(
  z.strictObject({ cloudwatchRoleArn: z.string() }),
  async ({ cloudwatchRoleArn: value }, { clients: { api } }) => {
    const patchOperations = [{ op: "replace", path: "/cloudwatchRoleArn", value } as const];
    await api.send(new UpdateAccountCommand({ patchOperations }));
    return {};
  },
);

export const restApi = kind(
  z.strictObject({
    name: z.string(),
    endpointConfiguration: z.strictObject({
      types: z.custom<EndpointType>((given) => typeof given === "string"),
    }),
  }),
  async ({ name, endpointConfiguration }, { clients: { api } }) => {
    const { items = [] } = await api.send(new GetRestApisCommand(PAGE));
    const types = [endpointConfiguration.types];
    const { id = "", rootResourceId = "" } =
      items.find((each) => each.name === name) ??
      (await api.send(new CreateRestApiCommand({ name, endpointConfiguration: { types } })));
    return { id, rootResourceId };
  },
);

export const pathPart = kind(
  z.strictObject({ restApi: z.string(), parentId: z.string(), pathPart: z.string() }),
  async ({ restApi: restApiId, parentId, pathPart: part }, { clients: { api } }) => {
    const { items = [] } = await api.send(new GetResourcesCommand({ restApiId, ...PAGE }));
    const known = items.find((each) => each.parentId === parentId && each.pathPart === part);
    const { id = "" } = known ?? (await api.send(new CreateResourceCommand({ restApiId, parentId, pathPart: part })));
    return { id };
  },
);

const where = { restApi: z.string(), resourceId: z.string(), httpMethod: z.string() };

export const method = kind(
  z.strictObject({ ...where, authorization: z.enum(["AWS_IAM", "NONE"]) }),
  async ({ restApi: restApiId, resourceId, httpMethod, authorization: authorizationType }, { clients: { api } }) => {
    const wanted = { restApiId, resourceId, httpMethod, authorizationType };
    await found(api.send(new PutMethodCommand(wanted)), "ConflictException");
    return { id: idOf(wanted) };
  },
);

const ofFunction = z.strictObject({
  ...where,
  type: z.custom<IntegrationType>((given) => given === "AWS_PROXY"),
  integrationHttpMethod: z.literal("POST"),
  responseTransferMode: z.literal("BUFFERED"),
  uri: z.string(),
});

const mocked = z.strictObject({
  ...where,
  type: z.custom<IntegrationType>((given) => given === "MOCK"),
  requestTemplates: z.record(z.string(), z.string()),
  passthroughBehavior: z.literal("NEVER"),
});

export const integration = kind(z.union([ofFunction, mocked]), async (inputs, { clients: { api } }) => {
  const { restApi: restApiId, ...of } = inputs;
  await api.send(new PutIntegrationCommand({ restApiId, ...of }));
  return { id: idOf({ restApiId, ...of }), resourceId: of.resourceId };
});

const answering = { ...where, statusCode: z.string() };

export const methodResponse = kind(
  z.strictObject({ ...answering, responseParameters: z.record(z.string(), z.boolean()) }),
  async ({ restApi: restApiId, ...of }, { clients: { api } }) => {
    await found(api.send(new PutMethodResponseCommand({ restApiId, ...of })), "ConflictException");
    return {};
  },
);

export const integrationResponse = kind(
  z.strictObject({
    ...answering,
    responseParameters: z.record(z.string(), z.string()),
    responseTemplates: z.record(z.string(), z.string()),
  }),
  async ({ restApi: restApiId, ...of }, { clients: { api } }) => {
    await api.send(new PutIntegrationResponseCommand({ restApiId, ...of }));
    return {};
  },
);

/** How many requests per second a route takes, and how many at once. */
export const methodSettings = kind(
  z.strictObject({
    ...{ restApi: z.string(), stageName: z.string(), methodPath: z.string() },
    settings: z.strictObject({ throttlingRateLimit: z.number(), throttlingBurstLimit: z.int() }),
  }),
  async ({ restApi: restApiId, stageName, methodPath, settings }, { clients: { api } }) => {
    const wanted = [
      ["rateLimit", settings.throttlingRateLimit],
      ["burstLimit", settings.throttlingBurstLimit],
    ] as const;
    const patchOperations = wanted.map(([name, value]) => ({
      ...{ op: "replace" as const, path: `/${methodPath}/throttling/${name}`, value: String(value) },
    }));
    await api.send(new UpdateStageCommand({ restApiId, stageName, patchOperations }));
    return {};
  },
);

/** The service gives no ID, so the engine makes one. */
const idOf = (of: { readonly restApiId: string; readonly resourceId: string; readonly httpMethod: string }): string =>
  `${of.restApiId}-${of.resourceId}-${of.httpMethod}`;

export const deployment = kind(
  z.strictObject({ restApi: z.string(), triggers: z.record(z.string(), z.string()) }),
  async ({ restApi: restApiId, triggers }, { clients: { api } }) => {
    const description = createHash("sha256").update(JSON.stringify(triggers)).digest("hex");
    const { items = [] } = await api.send(new GetDeploymentsCommand({ restApiId, ...PAGE }));
    const { id = "" } =
      items.find((each) => each.description === description) ??
      (await api.send(new CreateDeploymentCommand({ restApiId, description })));
    return { id };
  },
);

const logging = z.strictObject({ destinationArn: z.string(), format: z.string() });

export const stage = kind(
  z.strictObject({ restApi: z.string(), deployment: z.string(), stageName: z.string(), accessLogSettings: logging }),
  async ({ restApi: restApiId, deployment: deploymentId, stageName, accessLogSettings }, { clients: { api } }) => {
    const at = { restApiId, stageName };
    const known = await found(api.send(new GetStageCommand(at)), "NotFoundException");
    const there = known ?? (await api.send(new CreateStageCommand({ ...at, deploymentId })));
    const wanted = [
      ["/deploymentId", deploymentId, there.deploymentId],
      ["/accessLogSettings/destinationArn", accessLogSettings.destinationArn, there.accessLogSettings?.destinationArn],
      ["/accessLogSettings/format", accessLogSettings.format, there.accessLogSettings?.format],
    ] as const;
    for (const [path, value, now] of wanted) {
      const patchOperations = [{ op: "replace", path, value } as const];
      if (value !== now) await api.send(new UpdateStageCommand({ ...at, patchOperations }));
    }
    return { id: stageName, stageName };
  },
);

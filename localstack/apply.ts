/**
 * Applies the resources of a captured description to LocalStack, as the engine behind SST applies them to AWS. It
 * applies them one after the other, each with what the service returned for those before it. A repeated run updates
 * functions and machine, and finds everything else in place.
 */
import { CreateBucketCommand } from "@aws-sdk/client-s3";
import type { Capture, Resource } from "../infra/capture.ts";
import type { Clients } from "./clients.ts";
import type { Attributes, Kind } from "./kind.ts";
import { resolved } from "./references.ts";
import * as api from "./resources/api.ts";
import * as around from "./resources/around.ts";
import * as bucket from "./resources/bucket.ts";
import * as functions from "./resources/functions.ts";
import * as identity from "./resources/identity.ts";
import * as table from "./resources/table.ts";
import * as watching from "./resources/watching.ts";

/** How each type of resource is applied. */
export const KINDS: Readonly<Record<string, Kind>> = {
  "aws:apigateway/account:Account": api.account,
  "aws:apigateway/deployment:Deployment": api.deployment,
  "aws:apigateway/integration:Integration": api.integration,
  "aws:apigateway/integrationResponse:IntegrationResponse": api.integrationResponse,
  "aws:apigateway/method:Method": api.method,
  "aws:apigateway/methodResponse:MethodResponse": api.methodResponse,
  "aws:apigateway/methodSettings:MethodSettings": api.methodSettings,
  "aws:apigateway/resource:Resource": api.pathPart,
  "aws:apigateway/restApi:RestApi": api.restApi,
  "aws:apigateway/stage:Stage": api.stage,
  "aws:cloudwatch/logGroup:LogGroup": around.logGroup,
  "aws:cloudwatch/dashboard:Dashboard": watching.dashboard,
  "aws:cloudwatch/metricAlarm:MetricAlarm": watching.alarm,
  "aws:dynamodb/table:Table": table.table,
  "aws:dynamodb/tableItem:TableItem": table.tableItem,
  "aws:iam/role:Role": identity.role,
  "aws:iam/rolePolicy:RolePolicy": identity.rolePolicy,
  "aws:lambda/alias:Alias": functions.alias,
  "aws:lambda/eventSourceMapping:EventSourceMapping": functions.eventSource,
  "aws:lambda/function:Function": functions.fn,
  "aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig": functions.givenUp,
  "aws:lambda/permission:Permission": functions.permission,
  "aws:s3/bucket:Bucket": bucket.bucket,
  "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": bucket.lifecycle,
  "aws:s3/bucketObjectv2:BucketObjectv2": bucket.bucketObject,
  "aws:s3/bucketPolicy:BucketPolicy": bucket.bucketPolicy,
  "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": bucket.publicAccess,
  "aws:s3/bucketVersioning:BucketVersioning": bucket.versioning,
  "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": bucket.encryption,
  "aws:scheduler/schedule:Schedule": around.schedule,
  "aws:scheduler/scheduleGroup:ScheduleGroup": around.scheduleGroup,
  "aws:sfn/stateMachine:StateMachine": around.machine,
  "aws:sns/topic:Topic": watching.topic,
  "aws:sns/topicPolicy:TopicPolicy": watching.topicPolicy,
  "aws:sns/topicSubscription:TopicSubscription": watching.subscription,
  "aws:sqs/queue:Queue": around.queue,
  "aws:sqs/queuePolicy:QueuePolicy": around.queuePolicy,
};

/** The types that are not applied, and why nothing is missing without them. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  "random:index/randomBytes:RandomBytes": "the engine itself makes it, for links, and no function of cairn has a link",
};

export interface ApplyOptions {
  readonly clients: Clients;
  readonly capture: Capture;
  /** The prefix of every name in the deployment. */
  readonly prefix: string;
}

/** Applies a capture. Returns the outputs of the description, with what the services returned. */
export async function apply({ clients, capture, prefix }: ApplyOptions): Promise<unknown> {
  const known = new Map<string, Attributes>([["Bootstrap", await bootstrap(clients, prefix)]]);
  const begun: Promise<void>[] = [];
  const later = (work: () => Promise<void>): void => {
    const done = work();
    // `Promise.all` below reports the first failure. Until then the rejection must not count as unhandled.
    done.catch(() => undefined);
    begun.push(done);
  };
  for (const resource of capture.resources) {
    const kind = kindOf(resource);
    if (kind === null) continue;
    const { name } = resource;
    const told = await kind
      .apply(resolved(resource.inputs, known), { clients, name, prefix, later })
      .catch((cause: unknown) => refused(resource, cause));
    if (known.has(name)) throw new Error(`two resources are named ${name}, so a reference to it would be ambiguous`);
    known.set(name, told);
  }
  await Promise.all(begun);
  return resolved(capture.outputs, known);
}

/** How a resource is applied; null if its type is left out. Throws for an unknown type. */
export function kindOf({ type, name }: Pick<Resource, "type" | "name">): Kind | null {
  if (type in LEFT_OUT) return null;
  const kind = KINDS[type];
  if (kind !== undefined) return kind;
  throw new Error(`${name} has the type ${type}, which cannot be applied: add the type to localstack/apply.ts`);
}

function refused({ type, name }: Resource, cause: unknown): never {
  const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  throw new Error(`${name} (${type}) cannot be applied: ${why}`, { cause });
}

/** SST keeps the code of functions in its own bucket, which it creates before the first deployment to an account. */
async function bootstrap({ objects }: Clients, prefix: string): Promise<Attributes> {
  const assets = `${prefix}-assets`;
  await objects.send(new CreateBucketCommand({ Bucket: assets }));
  return { assets };
}

/**
 * Creates the REST API in front of one function, which knows all routes, and of another one that streams events, if the
 * config asks for that. By default AWS checks the callers: every route
 * requires a request signed by an identity of the account that has `execute-api:Invoke` on it. With tokens, the function
 * checks them, so each request invokes it; the rate of the API bounds that.
 *
 * Only `/healthz` is open, and API Gateway answers it without the function. Otherwise any stranger could use up the
 * account's concurrency, which beats need.
 */
import { isByIam } from "./callers.ts";
import { EVENTS } from "./names.ts";
import { secondsOf } from "./plan.ts";
import type { Site } from "./site.ts";
import { isTraced } from "./tracing.ts";

/** Allowed requests of `GET /healthz` per second. This is more than monitors need, and each request costs money. */
const HEALTH_RATE = 10;

export function createApi(site: Site, { api: fn, events }: Behind): sst.aws.ApiGatewayV1 {
  const { names, plan, options, called } = site;
  const answers: aws.apigateway.IntegrationResponse[] = [];
  const api = new sst.aws.ApiGatewayV1(called("Gateway"), {
    ...(options.domain === undefined ? {} : { domain: options.domain }),
    cors: false,
    endpoint: { type: "regional" },
    accessLog: { retention: plan.options.logRetention },
    transform: {
      api: { name: names.prefix },
      accessLog: { name: `/aws/vendedlogs/apis/${names.prefix}` },
      stage: (args) => {
        if (isTraced(plan)) args.xrayTracingEnabled = true;
        const { accessLogSettings } = args;
        if (accessLogSettings === undefined) return;
        args.accessLogSettings = $resolve([accessLogSettings]).apply(([settings]) => ({
          ...settings,
          format: withoutPath(settings.format),
        }));
      },
      // A deployment is a snapshot of the API, so it waits for the resources that SST does not know.
      deployment: (args, opts) => {
        args.triggers = $resolve([args.triggers ?? {}]).apply(([triggers]) => ({ ...triggers, health: HEALTH.body }));
        opts.dependsOn = answers;
      },
    },
  });
  api.route("ANY /{proxy+}", fn.arn, { ...(isByIam(options, plan) && { auth: { iam: true } }), name: "All" });
  // The token of a callback is its right: a service that reports by it has no identity of this account.
  if (isByIam(options, plan)) api.route("POST /callbacks/{token}", fn.arn, { name: "Callbacks" });
  // The root is no path of `/{proxy+}`, and only the console is there.
  if (plan.options.console) api.route("GET /", fn.arn, { name: "Console" });
  if (events !== undefined) addEventStreams(api, { site, fn, events });
  answers.push(answerHealth(api, called));
  api.deploy();
  throttle(api, { rate: plan.options.apiRate, called });
  return api;
}

/** The functions behind the API. Without `events` there are no streams. */
interface Behind {
  readonly api: sst.aws.Function;
  readonly events?: sst.aws.Function;
}

/**
 * Routes the reading of events to the function that streams. API Gateway chooses the most specific resource and does not
 * go back to `/{proxy+}` if that has no such method. So each resource on the way to the events gets the methods of the
 * API, and so do the paths beside them.
 */
function addEventStreams(
  api: sst.aws.ApiGatewayV1,
  { site, fn, events }: { readonly site: Site; readonly fn: sst.aws.Function; readonly events: sst.aws.Function },
): void {
  const { options, plan } = site;
  const auth = isByIam(options, plan) && { auth: { iam: true } as const };
  for (const [name, path] of BESIDE_EVENTS) api.route(`ANY ${path}`, fn.arn, { ...auth, name });
  api.route(`GET ${EVENTS_PATH}`, events.arn, {
    ...auth,
    name: "EventStream",
    // The function is described already, and SST takes an option of it only where it makes the function itself.
    streaming: true,
    transform: {
      integration: (args) => {
        args.timeoutMilliseconds = secondsOf(EVENTS, plan) * 1_000;
      },
    },
  });
}

const EVENTS_PATH = "/runs/{run}/events";

const BESIDE_EVENTS = [
  ["Runs", "/runs"],
  ["Run", "/runs/{run}"],
  ["BelowRun", "/runs/{run}/{proxy+}"],
  ["Events", EVENTS_PATH],
] as const;

/** What the access log records of a request, without its path: that of a callback is a secret. */
function withoutPath(format: string): string {
  const { path: _, ...fields } = JSON.parse(format) as Readonly<Record<string, unknown>>;
  return JSON.stringify(fields);
}

const HEALTH = {
  body: '{"status":"ok"}',
  headers: { "X-Content-Type-Options": "'nosniff'", "Cache-Control": "'no-store'" },
} as const;

function answerHealth(api: sst.aws.ApiGatewayV1, called: Site["called"]): aws.apigateway.IntegrationResponse {
  const { nodes } = api.routeIntegration(
    "GET /healthz",
    {
      type: "mock",
      requestTemplates: { "application/json": '{"statusCode":200}' },
      passthroughBehavior: "never",
    },
    { name: "Healthz" },
  );
  const headerOf = (name: string): string => `method.response.header.${name}`;
  const at = {
    restApi: api.nodes.api.id,
    resourceId: nodes.integration.resourceId,
    httpMethod: "GET",
    statusCode: "200",
  };
  const response = new aws.apigateway.MethodResponse(called("HealthzResponse"), {
    ...at,
    responseParameters: Object.fromEntries(Object.keys(HEALTH.headers).map((name) => [headerOf(name), true])),
  });
  return new aws.apigateway.IntegrationResponse(
    called("HealthzAnswer"),
    {
      ...at,
      responseTemplates: { "application/json": HEALTH.body },
      responseParameters: Object.fromEntries(
        Object.entries(HEALTH.headers).map(([name, value]) => [headerOf(name), value]),
      ),
    },
    { dependsOn: [response, nodes.integration] },
  );
}

/**
 * Limits the requests per second of each route. API Gateway answers the excess with 429, without invoking the function.
 */
function throttle(api: sst.aws.ApiGatewayV1, { rate, called }: { readonly rate: number } & Pick<Site, "called">): void {
  const { stage } = api.nodes;
  if (stage === undefined) throw new Error("the API is not deployed yet, so it has no stage to throttle");
  const limited = (name: string, methodPath: string, throttlingRateLimit: number) =>
    new aws.apigateway.MethodSettings(called(name), {
      restApi: api.nodes.api.id,
      stageName: stage.stageName,
      methodPath,
      settings: { throttlingRateLimit, throttlingBurstLimit: 2 * throttlingRateLimit },
    });
  limited("Throttle", "*/*", rate);
  limited("ThrottleHealthz", "healthz/GET", HEALTH_RATE);
}

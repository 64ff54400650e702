/**
 * The REST API in front of one function, which knows all routes. Who may call what is AWS's to say: every route asks for
 * a request that is signed by an identity of the account with `execute-api:Invoke` on it. `/healthz` alone is open, and
 * API Gateway answers it by itself: an open route to the function would let anybody use up the concurrency of the account,
 * which beats need.
 */
import type { Site } from "./site.ts";

/** `GET /healthz` a second: more than monitors ask, and each costs a request. */
const HEALTH_RATE = 10;

export function createApi({ names, plan }: Site, fn: sst.aws.Function): sst.aws.ApiGatewayV1 {
  const answers: aws.apigateway.IntegrationResponse[] = [];
  const api = new sst.aws.ApiGatewayV1("Gateway", {
    cors: false,
    endpoint: { type: "regional" },
    accessLog: { retention: plan.options.logRetention },
    transform: {
      api: { name: names.prefix },
      accessLog: { name: `/aws/vendedlogs/apis/${names.prefix}` },
      // A deployment is a copy of the API as it is then, so it waits for what SST does not know of.
      deployment: (args, opts) => {
        args.triggers = $resolve([args.triggers ?? {}]).apply(([triggers]) => ({ ...triggers, health: HEALTH.body }));
        opts.dependsOn = answers;
      },
    },
  });
  api.route("ANY /{proxy+}", fn.arn, { auth: { iam: true }, name: "All" });
  answers.push(answerHealth(api));
  api.deploy();
  throttle(api, plan.options.apiRate);
  return api;
}

const HEALTH = {
  body: '{"status":"ok"}',
  headers: { "X-Content-Type-Options": "'nosniff'", "Cache-Control": "'no-store'" },
} as const;

function answerHealth(api: sst.aws.ApiGatewayV1): aws.apigateway.IntegrationResponse {
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
  const response = new aws.apigateway.MethodResponse("HealthzResponse", {
    ...at,
    responseParameters: Object.fromEntries(Object.keys(HEALTH.headers).map((name) => [headerOf(name), true])),
  });
  return new aws.apigateway.IntegrationResponse(
    "HealthzAnswer",
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

/** Of each route: what is more is answered 429 by API Gateway, and costs no invocation. */
function throttle(api: sst.aws.ApiGatewayV1, rate: number): void {
  const { stage } = api.nodes;
  if (stage === undefined) throw new Error("the API is not deployed yet, so it has no stage to throttle");
  const limited = (name: string, methodPath: string, throttlingRateLimit: number) =>
    new aws.apigateway.MethodSettings(name, {
      restApi: api.nodes.api.id,
      stageName: stage.stageName,
      methodPath,
      settings: { throttlingRateLimit, throttlingBurstLimit: 2 * throttlingRateLimit },
    });
  limited("Throttle", "*/*", rate);
  limited("ThrottleHealthz", "healthz/GET", HEALTH_RATE);
}

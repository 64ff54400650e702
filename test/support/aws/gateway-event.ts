/** Events that a REST API of API Gateway sends to a function, with every field in its shape. */

export interface Recorded {
  readonly method?: string;
  /** The path below the stage. */
  readonly path: string;
  /** Default `/{proxy+}`. */
  readonly resource?: string;
  /** What the resource names, if it is not the default. */
  readonly pathParameters?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string | null;
  readonly isBase64Encoded?: boolean;
  /** The prefix of the path: the stage, or the mapping of a custom domain. */
  readonly base?: string;
  /** Null if the method requires no signature. */
  readonly userArn?: string | null;
}

const mapped = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value]]));

export function gatewayEvent(of: Recorded) {
  const { method = "GET", path, resource = "/{proxy+}", body = null, isBase64Encoded = false, base = "/prod" } = of;
  const userArn = of.userArn === undefined ? "arn:aws:iam::123456789012:user/ann" : of.userArn;
  const { query = null } = of;
  const headers: Readonly<Record<string, string>> = {
    Accept: "*/*",
    Host: "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com",
    "User-Agent": "curl/8.5.0",
    "X-Amzn-Trace-Id": "Root=1-67891233-abcdef012345678912345678",
    "X-Forwarded-For": "203.0.113.7",
    ...(body === null ? {} : { "Content-Type": "application/json" }),
    ...of.headers,
  };
  return {
    resource,
    // A custom domain keeps its mapping in the path; a stage is not in the path.
    path: base === "/prod" ? path : `${base}${path}`,
    httpMethod: method,
    headers,
    multiValueHeaders: mapped(headers),
    queryStringParameters: query,
    multiValueQueryStringParameters: query && mapped(query),
    pathParameters: resource === "/{proxy+}" ? { proxy: path.slice(1) } : (of.pathParameters ?? null),
    stageVariables: null,
    requestContext: {
      resourceId: "x1y2z3",
      resourcePath: resource,
      httpMethod: method,
      extendedRequestId: "LBmOqF1bliAFTLw=",
      requestTime: "21/Nov/2026:18:00:00 +0000",
      path: `${base}${path}`,
      accountId: "123456789012",
      protocol: "HTTP/1.1",
      stage: "prod",
      domainPrefix: "a1b2c3d4e5",
      requestTimeEpoch: 1_795_284_000_000,
      requestId: "41b45ea3-70b5-11e6-b7bd-69b5aaebc7d9",
      identity: {
        cognitoIdentityPoolId: null,
        accountId: userArn === null ? null : "123456789012",
        cognitoIdentityId: null,
        caller: userArn === null ? null : "AIDACKCEVSQ6C2EXAMPLE",
        sourceIp: "203.0.113.7",
        principalOrgId: null,
        accessKey: userArn === null ? null : "AKIAIOSFODNN7EXAMPLE",
        cognitoAuthenticationType: null,
        cognitoAuthenticationProvider: null,
        userArn,
        userAgent: "curl/8.5.0",
        user: userArn === null ? null : "AIDACKCEVSQ6C2EXAMPLE",
      },
      domainName: "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com",
      apiId: "a1b2c3d4e5",
    },
    body,
    isBase64Encoded,
  };
}

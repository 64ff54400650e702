/** What Lambda's runtime for Node gives to functions that stream their responses. No package declares it. */
declare const awslambda: {
  /** Marks a handler as one that writes its response to a stream. */
  readonly streamifyResponse: <Event>(handler: LambdaStreamingHandler<Event>) => LambdaStreamingHandler<Event>;
};

type LambdaStreamingHandler<Event> = (
  event: Event,
  response: NodeJS.WritableStream,
  context: { readonly getRemainingTimeInMillis: () => number },
) => Promise<void>;

/** Where a run is in the services of AWS, for a human who looks there. They hold no secret, but names of the account. */
export interface RunPlaces {
  /** The execution that may drive it now, or drove it last. */
  readonly executionArn: string;
  /** The page of that execution; null in a partition whose pages are not known. */
  readonly executionUrl: string | null;
  /** All of its objects: `s3://BUCKET/PREFIX/`. */
  readonly objects: string;
  readonly table: string;
  /** The key of its row as JSON, in the form that `aws dynamodb get-item --key` takes. */
  readonly rowKey: string;
  /** What its functions logged about it, as a query of CloudWatch Logs Insights. */
  readonly logsQuery: string;
  /** The names of the groups of logs for that query. Isolated agents have one more each. */
  readonly logGroups: readonly string[];
}

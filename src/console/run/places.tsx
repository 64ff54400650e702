/** Where the run is in the services of AWS. In other worlds there is nothing to open. */
import type { RunPlaces } from "../../ports/run-places.ts";
import { Command } from "../parts/basics.tsx";

export function Places({ aws }: { readonly aws: RunPlaces | null }) {
  if (aws === null) return null;
  const { executionArn, executionUrl, objects, table, rowKey, logsQuery, logGroups } = aws;
  return (
    <details class="places">
      <summary>In AWS</summary>
      <dl class="facts">
        <dt>Execution</dt>
        <dd>
          {executionUrl === null ? null : (
            <a href={executionUrl} target="_blank" rel="noopener noreferrer">
              Open in Step Functions
            </a>
          )}
          <Command text={executionArn} />
        </dd>
        <dt>Objects</dt>
        <dd>
          <Command text={objects} />
        </dd>
        <dt>Row</dt>
        <dd>
          <Command text={`aws dynamodb get-item --table-name ${table} --key '${rowKey}'`} />
        </dd>
        <dt>Log</dt>
        <dd>
          <Command text={logsQuery} />
          <p class="small quiet">A query of CloudWatch Logs Insights, for the groups {logGroups.join(", ")}</p>
        </dd>
      </dl>
    </details>
  );
}

/** Where a run is in the services of AWS, as lines of `show`. */
import type { RunPlaces } from "../ports/run-places.ts";

export function placeLines({ aws }: { readonly aws: RunPlaces | null }): readonly (readonly [string, string])[] {
  if (aws === null) return [];
  return [
    ["execution", aws.executionUrl ?? aws.executionArn],
    ["objects", aws.objects],
    ["row", `${aws.table} ${aws.rowKey}`],
  ];
}

import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import { formatBytes } from "../../parts/format-bytes.ts";
import { Note } from "../../parts/note.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import type { WaitReason } from "../../../protocol/rollout.ts";
import { formatAssets, WAIT_REASONS } from "../../parts/target-states.ts";
import type { Price } from "./price-stream.ts";

/** What a rollout would download: in all, how many could not be asked, and the largest. */
export function PriceView({ price: { answered, largest, sums } }: { readonly price: Price }): ReactNode {
  if (!sums) return <Text size="sm">{formatAssets(answered)} have answered so far.</Text>;
  return (
    <Note
      kind="info"
      title={`${formatBytes(sums.download_bytes)} in all, on ${formatAssets(sums.asked)} that answered.`}
    >
      {sums.not_asked > 0 && <div>{formatAssets(sums.not_asked)} were not asked.</div>}
      {sums.refused > 0 && <div>{formatAssets(sums.refused)} would refuse it, or did not answer.</div>}
      {sums.foreseen.waiting_for.map(({ for: reason, count, message }) => (
        <div key={`${reason} ${message}`}>
          {formatAssets(count)} would wait {reason in WAIT_REASONS && WAIT_REASONS[reason as WaitReason]}
          {message !== undefined && <>: {message}</>}
        </div>
      ))}
      {largest.length > 0 && (
        <>
          <div>The largest:</div>
          <ul style={{ margin: 0, paddingLeft: "1.25rem" }}>
            {largest.map(({ asset_id: id, asset_name: name, download_bytes: bytes = 0 }) => (
              <li key={id}>
                <SafeText text={name} max={100} />: {formatBytes(bytes)}
              </li>
            ))}
          </ul>
        </>
      )}
    </Note>
  );
}

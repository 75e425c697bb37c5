import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import { toFailure } from "../../api/failure.ts";
import type { DataUsage } from "../../api/types.ts";
import { Age } from "../../parts/age.tsx";
import { formatBytes } from "../../parts/format-bytes.ts";

interface Props {
  readonly ledger: DataUsage | undefined;
  readonly error: Error | null;
}

/** How old the device's own count is, and its budget. */
export function LedgerNote({ ledger, error }: Props): ReactNode {
  if (error) return <Text size="sm">What the device counted is not known: {toFailure(error).message}</Text>;
  if (!ledger) return <Text size="sm">Asking the device what it counted …</Text>;
  const { live, reported_at: at, budget } = ledger;
  return (
    <Text size="sm" component="div">
      {at === null ? (
        "The device has not said yet what it counted."
      ) : (
        <>
          The device's own count is {live ? "from now" : "its last answer"}, <Age at={at} />.
        </>
      )}
      {budget?.monthly_bytes != null &&
        ` Of its monthly budget of ${formatBytes(budget.monthly_bytes)} it has used ${formatBytes(budget.used_this_month_bytes)}.`}
    </Text>
  );
}

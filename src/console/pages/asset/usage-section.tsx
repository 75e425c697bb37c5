import { Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import type { Asset, DataUsage } from "../../api/types.ts";
import { serverNow } from "../../live/reachability.ts";
import { Age } from "../../parts/age.tsx";
import { formatDate, formatTime } from "../../parts/durations.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { formatBytes } from "../../parts/format-bytes.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { Loading } from "../../parts/loading.tsx";
import classes from "./asset.module.css";
import { useDataUsage } from "./asset-queries.ts";
import { monthUntil, sourcesOf, type UsageDay, usageDays, utcDay } from "./usage-days.ts";

const UsageChart = lazy(async () => ({ default: (await import("./usage-chart.tsx")).UsageChart }));

interface Props {
  readonly asset: Asset;
  readonly sim: "supersim" | "prosim";
}

const NAMES = { supersim: "Super SIM", prosim: "PRO SIM" } as const;

/** Usage of a SIM this month by day, as the operator counted it, beside what the device counted. */
export function UsageSection({ asset, sim }: Props): ReactNode {
  const [range] = useState(() => monthUntil(serverNow() / 1000));
  const usage = useQuery({
    queryKey: [...KEYS.asset(asset.uuid), "usage", sim, range],
    queryFn: ({ signal }) =>
      call("GET /v1/assets/{asset_id}/sims/{sim_type}/usages", {
        path: { asset_id: asset.uuid, sim_type: sim },
        query: { granularity: "day", start_time: String(range.from), end_time: String(range.to) },
        signal,
      }),
  });
  // The device answers this one. What the operator counted is shown without waiting for it.
  const ledger = useDataUsage(asset.uuid, utcDay(range.from), utcDay(range.to));
  const days = useMemo(() => usageDays(range, usage.data?.usages, ledger.data?.days), [range, usage.data, ledger.data]);
  return (
    <section aria-labelledby={`usage-${sim}`}>
      <Title order={2} id={`usage-${sim}`} mb="xs">
        Usage of the {NAMES[sim]} since {formatDate(range.from)}
      </Title>
      <Loaded query={usage}>
        {({ usages, finalized_until: finalUntil }) => (
          <>
            <Text size="sm" mb="xs">
              {formatBytes(usages.reduce((sum, { total }) => sum + total, 0))} by the operator's count, final up to{" "}
              {formatTime(finalUntil)}.
            </Text>
            {sourcesOf(days).length === 0 ? (
              <Text size="sm">No usage has been counted for any day of this month.</Text>
            ) : (
              <>
                <Suspense fallback={<Loading />}>
                  <UsageChart days={days} />
                </Suspense>
                <details>
                  <summary>As a table</summary>
                  <UsageTable days={days} />
                </details>
              </>
            )}
            <LedgerNote ledger={ledger.data} error={ledger.error} />
          </>
        )}
      </Loaded>
    </section>
  );
}

function LedgerNote({
  ledger,
  error,
}: {
  readonly ledger: DataUsage | undefined;
  readonly error: Error | null;
}): ReactNode {
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

function bytesOf(bytes: number | null): ReactNode {
  return bytes === null ? "not known" : <Bytes value={bytes} />;
}

function UsageTable({ days }: { readonly days: readonly UsageDay[] }): ReactNode {
  return (
    <div className={classes.scroll}>
      <table className={classes.list}>
        <thead>
          <tr>
            <th scope="col">Day (UTC)</th>
            <th scope="col" data-number>
              SIM
            </th>
            <th scope="col" data-number>
              Agent
            </th>
            <th scope="col" data-number>
              Device's interfaces
            </th>
          </tr>
        </thead>
        <tbody>
          {days.toReversed().map(({ at, sims, agent, device }) => (
            <tr key={at}>
              <td>{utcDay(at)}</td>
              <td data-number>{bytesOf(sims)}</td>
              <td data-number>{bytesOf(agent)}</td>
              <td data-number>{bytesOf(device)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

import { NativeSelect, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { useSearchParams } from "react-router";
import type { Asset } from "../../api/types.ts";
import classes from "./asset.module.css";
import { PeriodUsage } from "./period-usage.tsx";
import { type Period, PERIODS, readPeriod } from "./usage-period.ts";

const PARAMETER = "period";

/** Usage of the asset's SIMs by day over a period, which is in the address, beside what the device counted. */
export function UsageSection({ asset }: { readonly asset: Asset }): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const period = readPeriod(parameters.get(PARAMETER));
  const choose = (next: Period): void =>
    setParameters((before) => new URLSearchParams({ ...Object.fromEntries(before), [PARAMETER]: next }), {
      replace: true,
    });
  return (
    <section aria-labelledby="usage">
      <div className={classes.usageHead}>
        <Title order={2} id="usage">
          Usage by day
        </Title>
        <NativeSelect
          size="xs"
          label="Period (UTC)"
          data={Object.entries(PERIODS).map(([value, label]) => ({ value, label }))}
          value={period}
          onChange={({ currentTarget }) => choose(currentTarget.value as Period)}
        />
      </div>
      <PeriodUsage key={period} asset={asset} period={period} />
    </section>
  );
}

import type { AttentionReason, Overview } from "../../../protocol/assets/attention.ts";
import { REASONS } from "../../parts/reason.tsx";
import { Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import { Age } from "../../parts/age.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { AlertTable } from "../alerts/alert-list.tsx";
import classes from "./overview.module.css";

/** The reasons in the order of display. */
export const ATTENTION_ORDER = Object.keys(REASONS) as readonly AttentionReason[];

/** What needs attention: each count leads to the list of those assets. */
export function OverviewPage(): ReactNode {
  const overview = useQuery({ queryKey: KEYS.overview, queryFn: ({ signal }) => call("GET /v1/overview", { signal }) });
  return (
    <>
      <PageTitle title="Overview" />
      <Loaded query={overview}>{(data) => <Counts overview={data} />}</Loaded>
    </>
  );
}

function Counts({ overview }: { readonly overview: Overview }): ReactNode {
  const { assets, connected, not_connected, never_connected, attention, reasons, deployments_running } = overview;
  if (assets === 0)
    return (
      <Empty title="There are no assets yet." action={<Link to="/enrol">Enrol a device</Link>}>
        An asset is a gateway with its SIM cards. Register one, and give its device the code that the page shows.
      </Empty>
    );
  const present = ATTENTION_ORDER.filter((reason) => (reasons[reason] ?? 0) > 0);
  return (
    <Stack gap="lg">
      <OpenAlerts />
      <section aria-labelledby="attention">
        <Title order={2} id="attention" mb="xs">
          {attention === 0
            ? "Nothing needs attention"
            : `${format(attention)} of ${format(assets)} assets need attention`}
        </Title>
        {present.length === 0 ? (
          <Text size="sm" className={classes.good}>
            <Icon name="check" /> Apps run as asked, as far as the devices have reported.
          </Text>
        ) : (
          <ul className={classes.reasons}>
            {present.map((reason) => {
              const { label, hint, icon, kind } = REASONS[reason];
              return (
                <li key={reason}>
                  <Link to={`/assets?attention=${reason}`} className={classes.reason ?? ""} data-kind={kind}>
                    <span className={classes.icon}>
                      <Icon name={icon} />
                    </span>
                    <span className={classes.count}>{format(reasons[reason] ?? 0)}</span>
                    <span className={classes.label}>{label}</span>
                    <span className={classes.hint}>{hint}</span>
                  </Link>
                </li>
              );
            })}
          </ul>
        )}
      </section>
      <section aria-labelledby="assets">
        <Title order={2} id="assets" mb="xs">
          Assets
        </Title>
        <ul className={classes.tiles}>
          <Tile to="/assets" count={assets} label="all" />
          <Tile to="/assets?connected=true" count={connected} label="connected now" />
          <Tile
            to="/assets?connected=false"
            count={not_connected + never_connected}
            label={
              never_connected > 0 ? `not connected, ${format(never_connected)} of them never yet` : "not connected now"
            }
          />
        </ul>
        <Text size="sm" mt="xs">
          {format(deployments_running)} {deployments_running === 1 ? "deployment is" : "deployments are"} under way.
        </Text>
      </section>
      <Text size="xs" c="dimmed">
        Counted <Age at={overview.as_of} />. Devices say how they are when something changes, so an asset that is not
        connected is shown as it was.
      </Text>
    </Stack>
  );
}

/** The worst of the open alerts; nothing if there are none. */
function OpenAlerts(): ReactNode {
  const mayRead = usePermission("alerts.read");
  const { data } = useQuery({
    queryKey: [...KEYS.alerts, "overview"],
    queryFn: ({ signal }) => call("GET /v1/alerts", { query: { limit: "200" }, signal }),
    enabled: mayRead,
  });
  if (!data || data.alerts.length === 0) return null;
  return (
    <section aria-labelledby="open-alerts">
      <Group justify="space-between" mb="xs">
        <Title order={2} id="open-alerts">
          Open alerts
        </Title>
        <Link to="/alerts">All {format(data.firing)}</Link>
      </Group>
      <AlertTable label="Open alerts" alerts={data.alerts} max={MAX_GROUPS} />
    </section>
  );
}

const MAX_GROUPS = 5;

interface TileProps {
  readonly to: string;
  readonly count: number;
  readonly label: string;
}

function Tile({ to, count, label }: TileProps): ReactNode {
  return (
    <li>
      <Link to={to} className={classes.tile ?? ""}>
        <span className={classes.count}>{format(count)}</span>
        <span>{label}</span>
      </Link>
    </li>
  );
}

const format = (count: number): string => count.toLocaleString("en");

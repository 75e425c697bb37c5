import type { ReactNode } from "react";
import { Link, useSearchParams } from "react-router";
import { usePermission } from "../../api/session.ts";
import { Empty } from "../../parts/empty.tsx";
import { Forbidden, Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { AlertFilterBar, readAlertFilters } from "./alert-filters.tsx";
import { apart } from "./alert-groups.ts";
import { AlertTable } from "./alert-list.tsx";
import { AlertTabs } from "./alerts-tabs.tsx";
import { Deliveries } from "./deliveries.tsx";
import { MessageGroup } from "./message-group.tsx";
import { Silences } from "./silences.tsx";
import { useAlerts } from "./use-alerts.ts";
import { NoPersonIsTold, WhoIsTold } from "./who-is-told.tsx";

const GROUP = /^grp_[0-9a-f]{1,64}$/;

/** Those of the tabs that this page shows. */
const VIEWS = ["open", "over", "silences", "sent"] as const;

/** Open and resolved alerts of the account, silences, and the messages that were sent. */
export function AlertsPage(): ReactNode {
  const [parameters] = useSearchParams();
  const group = parameters.get("group");
  if (group !== null)
    return (
      <>
        <PageTitle title="Alerts of a message" />
        {GROUP.test(group) ? <MessageGroup key={group} groupId={group} /> : <UnknownGroup />}
      </>
    );
  const view = VIEWS.find((each) => each === parameters.get("view")) ?? "open";
  return (
    <>
      <PageTitle title="Alerts" />
      <AlertTabs current={view} />
      <View id={view} />
    </>
  );
}

function UnknownGroup(): ReactNode {
  return (
    <Empty title="The link is incomplete." action={<Link to="/alerts">All open alerts</Link>}>
      It has to end as the message has it.
    </Empty>
  );
}

function View({ id }: { readonly id: (typeof VIEWS)[number] }): ReactNode {
  const maySeeMessages = usePermission("alerts.manage");
  switch (id) {
    case "open":
      return <List key="open" state="firing" />;
    case "over":
      return <List key="over" state="resolved" />;
    case "silences":
      return <Silences />;
    case "sent":
      return maySeeMessages ? <Deliveries /> : <Forbidden permission="alerts.manage" />;
  }
}

function List({ state }: { readonly state: "firing" | "resolved" }): ReactNode {
  const [parameters] = useSearchParams();
  const filters = readAlertFilters(parameters);
  const alerts = useAlerts({ ...filters, state });
  const isFiltered = Object.keys(filters).length > 0;
  const isOpen = state === "firing";
  return (
    <>
      <AlertFilterBar filters={filters} />
      <Loaded query={alerts}>
        {({ pages }) => {
          const all = pages.flatMap((page) => page.alerts);
          const rows = filters.asset === undefined ? all : apart(all);
          if (rows.length === 0) return <None isOpen={isOpen} isFiltered={isFiltered} />;
          return (
            <>
              {isOpen && <NoPersonIsTold />}
              <AlertTable label={isOpen ? "Open alerts" : "History"} alerts={rows} isOver={!isOpen} />
            </>
          );
        }}
      </Loaded>
      <MoreButton query={alerts} />
    </>
  );
}

function None({ isOpen, isFiltered }: { readonly isOpen: boolean; readonly isFiltered: boolean }): ReactNode {
  if (isFiltered) return <Empty title="No alert matches.">Other alerts of the account are not shown.</Empty>;
  if (!isOpen) return <Empty title="No alert has been resolved yet.">Resolved alerts are listed here.</Empty>;
  return (
    <Empty title="No open alerts.">
      <p>
        An alert fires when a device is offline for 30 minutes, an app stops or restarts again and again, a deployment
        fails, a rollout stops, a disk or a data plan runs out, or a key is about to expire.
      </p>
      <WhoIsTold />
    </Empty>
  );
}

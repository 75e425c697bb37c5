import type { ReactNode } from "react";
import { Link } from "react-router";
import { usePermission } from "../../api/session.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { AppCard } from "./app-card.tsx";
import classes from "./asset.module.css";
import type { TabProps } from "./tab-props.ts";
import { useApps } from "./asset-queries.ts";

/** The apps of the device, as it last reported them. */
export function AppsTab({ asset }: TabProps): ReactNode {
  const apps = useApps(asset.uuid);
  const mayDeploy = usePermission("apps.deploy");
  return (
    <Loaded query={apps}>
      {({ apps: list, reported_at: reportedAt }) =>
        list.length === 0 ? (
          <Empty
            title={reportedAt === null ? "The device has not reported yet." : "The device has no apps."}
            action={mayDeploy ? <Link to={`/assets/${asset.uuid}/deploy`}>Deploy an app</Link> : undefined}
          >
            {reportedAt === null
              ? "Its apps are shown as soon as it has connected once."
              : "Containers that were started by other means are not apps."}
          </Empty>
        ) : (
          <ul className={classes.cards}>
            {list.map((app) => (
              <li key={app.name} className={classes.card}>
                <AppCard assetId={asset.uuid} app={app} />
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}

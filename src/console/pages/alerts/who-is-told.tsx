import type { ReactNode } from "react";
import { Link } from "react-router";
import { usePermission } from "../../api/session.ts";
import { Note } from "../../parts/note.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import classes from "./alerts.module.css";
import { describeRoute } from "./route-fields.ts";
import { useAlertSettings } from "./settings-data.ts";

/** Says that messages reach no person, to those who can change that. */
export function NoPersonIsTold(): ReactNode {
  const { data } = useAlertSettings();
  if (!data || Object.keys(data.settings.routes).length > 0) return null;
  return (
    <Note kind="warn" title="No person is notified." isAnnounced={false}>
      Alerts are only listed here: the account has no route to a channel, such as mail or chat.{" "}
      <Link to="/alerts/settings">Set one up</Link>
    </Note>
  );
}

/** Says who is told what. */
export function WhoIsTold(): ReactNode {
  const maySee = usePermission("settings.manage");
  const { data } = useAlertSettings();
  if (!maySee) return "Admins of the account decide who is notified.";
  if (!data) return null;
  const { routes: all, channel_states: states } = data.settings;
  const routes = Object.entries(all);
  if (routes.length === 0)
    return (
      <>
        No person would be notified: the account has no route to a channel, such as mail or chat.{" "}
        <Link to="/alerts/settings">Set one up</Link>
      </>
    );
  return (
    <>
      Notified are:
      <ul className={classes.told}>
        {routes.map(([name, route]) => (
          <li key={name}>
            {route.channels.map((channel, index) => (
              <span key={channel}>
                {index > 0 && ", "}
                <strong>{channel}</strong> (<SafeText text={states[channel]?.address ?? "–"} max={80} />)
              </span>
            ))}
            {": "}
            {describeRoute(route)}
          </li>
        ))}
      </ul>
    </>
  );
}

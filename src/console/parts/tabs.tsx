import type { ReactNode } from "react";
import { Link } from "react-router";
import classes from "./tabs.module.css";

interface Props {
  /** What the parts are parts of. */
  readonly label: string;
  readonly tabs: readonly { readonly id: string; readonly label: string; readonly to: string }[];
  /** Id of the part that is shown. */
  readonly current: string;
}

/** A narrow screen has no room for all of them. */
function bringIntoView(link: HTMLElement | null): void {
  link?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** Links to the parts of a page, which are in its address. */
export function Tabs({ label, tabs, current }: Props): ReactNode {
  return (
    <nav aria-label={label} className={classes.tabs}>
      {tabs.map(({ id, label: name, to }) => (
        <Link
          key={id}
          ref={id === current ? bringIntoView : null}
          to={to}
          replace
          className={classes.tab ?? ""}
          aria-current={id === current ? "page" : undefined}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}

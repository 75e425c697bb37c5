import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "react-router";
import classes from "./tabs.module.css";

interface Props {
  /** What the parts are parts of. */
  readonly label: string;
  readonly tabs: readonly { readonly id: string; readonly label: string; readonly to: string }[];
  /** Id of the part that is shown. */
  readonly current: string;
}

/** Links to the parts of a page, which are in its address. */
export function Tabs({ label, tabs, current }: Props): ReactNode {
  const shown = useRef<HTMLAnchorElement>(null);
  // A narrow screen has no room for all of them.
  useEffect(() => shown.current?.scrollIntoView({ block: "nearest", inline: "nearest" }), [current]);
  return (
    <nav aria-label={label} className={classes.tabs}>
      {tabs.map(({ id, label: name, to }) => (
        <Link
          key={id}
          ref={id === current ? shown : null}
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

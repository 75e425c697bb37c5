import type { ReactNode } from "react";
import { Outlet } from "react-router";
import { StaleBanner } from "../parts/stale-banner.tsx";
import { ColorSchemeSelect } from "./color-scheme-select.tsx";
import { Logo } from "./logo.tsx";
import classes from "./public-frame.module.css";

/** Frame of the pages that are shown without a session. */
export function PublicFrame(): ReactNode {
  return (
    <div className={classes.frame}>
      <StaleBanner />
      <main className={classes.main}>
        <Logo />
        <Outlet />
      </main>
      <footer className={classes.footer}>
        <ColorSchemeSelect />
      </footer>
    </div>
  );
}

import { ActionIcon, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Outlet } from "react-router";
import { useSession } from "../api/session.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { SafeText } from "../parts/safe-text.tsx";
import { StaleBanner } from "../parts/stale-banner.tsx";
import { Logo } from "./logo.tsx";
import { Navigation } from "./navigation.tsx";
import classes from "./shell.module.css";

/** Navigation and content. On a narrow screen the navigation is a drawer. */
export function Shell(): ReactNode {
  const { account } = useSession();
  const [isOpen, setOpen] = useState(false);
  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#content">
        Skip to the content
      </a>
      <header className={classes.header}>
        <ActionIcon variant="subtle" size="lg" aria-label="Open the navigation" onClick={() => setOpen(true)}>
          <Icon name="menu" />
        </ActionIcon>
        <Logo />
        <Text size="sm" c="dimmed" truncate>
          <SafeText text={account.name} />
        </Text>
      </header>
      <aside className={classes.sidebar}>
        <Logo />
        <Navigation />
      </aside>
      <Dialog isOpen={isOpen} onClose={() => setOpen(false)} label="Navigation" kind="drawer">
        <Navigation onNavigate={() => setOpen(false)} />
      </Dialog>
      <main id="content" className={classes.main} tabIndex={-1}>
        <StaleBanner />
        <Outlet />
      </main>
    </div>
  );
}

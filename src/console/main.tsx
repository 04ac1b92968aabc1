/** The web console: mounts the frame. All its data comes from the server through this package's client. */
import { render } from 'preact';
import { Shell } from './shell.tsx';

render(<Shell />, document.getElementById('console')!);

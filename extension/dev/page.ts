/** The development page: the editor on a session that runs in the page. */
import { mount } from '../src/index';
import { PageSession } from './session';

const query = new URLSearchParams(location.search);
const name = query.get('graph') ?? 'photographs';
const session = new PageSession(name === 'empty' ? null : name);
const theme = query.get('theme');
const handle = mount(document.getElementById('editor') as HTMLElement, session, {
  theme: theme === 'dark' || theme === 'light' ? theme : 'auto',
});
Object.assign(window, { session, handle });

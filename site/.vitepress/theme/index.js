import { useData, useRoute } from "vitepress";
import DefaultTheme from "vitepress/theme";
import { onMounted, watch } from "vue";
import { drawDiagrams } from "./diagrams.js";
import "./style.css";

export default {
  extends: DefaultTheme,
  setup() {
    const [route, { isDark }] = [useRoute(), useData()];
    const draw = () => drawDiagrams(isDark.value);
    onMounted(() => watch([() => route.path, isDark], draw, { immediate: true, flush: "post" }));
  },
};
